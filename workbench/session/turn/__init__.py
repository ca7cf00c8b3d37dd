"""One call of the model: history, context window, condensation; used by the session."""
