"""The Textual app: what a person sees of a session, and the keys by which they steer it."""

from workbench.tui.garbage import begin

begin()  # before Textual is loaded: looking through what an import makes takes a fifth of the way to the first frame
