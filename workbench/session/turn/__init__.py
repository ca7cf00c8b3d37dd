"""A turn is one call of the model: the history that is sent, the context window, condensation."""
