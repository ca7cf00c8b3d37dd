"""Language models: those of providers and a scripted one, their fallbacks and retries, and the errors of calls."""
