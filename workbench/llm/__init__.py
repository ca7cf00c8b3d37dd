"""Models: those of providers through litellm, a scripted one, and the errors of model calls."""
