"""The steps from a proposed action to its result: assess, decide, run, record; used by the session."""
