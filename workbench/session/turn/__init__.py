"""One model call: history, context window, condensation; used by the session."""
