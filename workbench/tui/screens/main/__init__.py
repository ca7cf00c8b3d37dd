"""The main screen of one session, and the parts that it holds: layout, search, submitter, event feed.

The app uses `MainScreen`. The parts know the session's state, its client and the widgets they are given; none of them
knows the app.
"""

from workbench.tui.screens.main.screen import MainScreen

__all__ = ["MainScreen"]
