"""One model call: history, context window, condensing; used by the session."""
