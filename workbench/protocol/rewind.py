"""The parts of a rewind, as its event records them."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from workbench.protocol.codec import Data

RewindScope: TypeAlias = Literal["both", "conversation", "files"]
"""What returns to an earlier state."""


REWIND: Final = "rewind"
"""Takes the place of the action ID in the `version_taken` event that ends a rewind."""


class RewoundFile(Data):
    """A file that a rewind changes; `path` is relative to the workspace.

    `before` and `after` are IDs of git blobs in the snapshots, empty if there is no file; the modes are those of
    `stat`, including the file type.
    """

    path: str
    before: str
    after: str
    mode_before: int = 0
    mode_after: int = 0
    is_merged: bool = False
    """Whether `after` merges the earlier content with changes that the user made later."""
    is_overwritten: bool = False
    """Whether `after` discards changes that the user made later, as the user chose."""
