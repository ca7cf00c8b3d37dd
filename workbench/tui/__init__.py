"""The Textual app: shows a session in the terminal and handles the user's keys."""

from workbench.tui.garbage_collection import begin

begin()  # before Textual is loaded: collecting during imports would take a fifth of the time to the first frame
