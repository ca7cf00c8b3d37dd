"""The parts of a rewind, as its event records them."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from workbench.protocol.codec import Data

RewindScope: TypeAlias = Literal["both", "conversation", "files"]
"""What returns to an earlier state."""


REWIND: Final = "rewind"
"""Stands for the id of an action in the `version_taken` that ends a rewind."""


class RewoundFile(Data):
    """A file that a rewind changes; `path` is relative to the workspace.

    `before` and `after` are ids of git blobs in the snapshots, empty for no file, and the modes those of `stat`, with
    the type of the file.
    """

    path: str
    before: str
    after: str
    mode_before: int = 0
    mode_after: int = 0
    is_merged: bool = False
    """Whether `after` has changes that the user made later, besides the earlier content."""
    is_overwritten: bool = False
    """Whether `after` lacks changes that the user made later, as the user chose."""
