"""The screens of the app, one per module: the main screen and the screens that open on top of it."""
