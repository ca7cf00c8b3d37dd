"""The screens of `ohw batch watch`: the grid of a run, the attempts of one cell, and one attempt."""

from workbench.tui.screens.batch_watch.watch import WatchScreen

__all__ = ["WatchScreen"]
