"""One call of the model: history, context window, condensing; used by the session."""
