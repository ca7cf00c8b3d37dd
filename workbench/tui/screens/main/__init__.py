"""The main screen of one session and its parts: layout, search, submitter, event feed.

The app uses `MainScreen`. The parts depend on the session's state, its client and the widgets they are given, not on
the app.
"""

from workbench.tui.screens.main.screen import MainScreen

__all__ = ["MainScreen"]
