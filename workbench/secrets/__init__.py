"""Secrets: their names and shapes, and the masker of everything that is shown, stored or sent."""
