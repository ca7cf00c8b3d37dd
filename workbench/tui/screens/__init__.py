"""The screens of the app, one per module: the main screen and those that open over it."""
