"""The model of the prompt: completion, history, attachments and vim keys."""
