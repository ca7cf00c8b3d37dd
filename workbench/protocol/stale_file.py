"""A file that changed between the agent's reading and its writing, as the assessment of an action records it."""

from __future__ import annotations

from workbench.protocol.codec import Data


class StaleFile(Data):
    """A file that changed after the agent had read it.

    `seen` is the content that the agent read, `theirs` the content on disk, `wanted` the content that the agent would
    write. The preview merges both changes. `conflicts` counts the places where they overlap, in which the preview has
    the agent's lines; it is None if they could not be merged and the preview has the agent's whole content.
    """

    path: str
    seen: str
    theirs: str
    wanted: str
    conflicts: int | None = 0
    by: str = ""
    """Who changed the file, if the log shows it: "person" (the user), "other", or "agent" for an earlier action."""
