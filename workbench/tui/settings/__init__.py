"""The logic of the Settings screen and the first run, without any widget."""
