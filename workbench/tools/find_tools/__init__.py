"""Finding tools that are not shown to the model from the start."""
