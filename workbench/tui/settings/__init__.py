"""What the Settings screen and the first run know of the settings, without any widget."""
