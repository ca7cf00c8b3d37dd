"""The widgets that screens are made of, one per module."""
