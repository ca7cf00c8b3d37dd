"""An answer of a given shape, for runs that want data instead of a text."""
