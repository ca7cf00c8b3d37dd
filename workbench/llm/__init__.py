"""Models: those of providers through litellm, those of a script, and what can go wrong with a call."""
