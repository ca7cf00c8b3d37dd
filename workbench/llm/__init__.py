"""Language models: providers' models through litellm, a scripted model, and the errors of model calls."""
