"""All files below a folder, by ripgrep where it is there and by our own walk otherwise; for `glob` and the prompt."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from workbench.tools.glob.program import ProgramError, output_of, ripgrep
from workbench.tools.glob.stop import Stop
from workbench.tools.glob.walk import walk


def files_below(folder: str, stop: Stop, *, hidden: bool) -> Iterator[str]:
    """Their paths relative to the folder (absolute, without links); what ignore files name is left out."""
    command = ripgrep("--files", hidden=hidden)
    if command is not None:
        try:
            yield from _names(output_of(command, folder, stop))
            return
        except (ProgramError, OSError):
            pass  # an old ripgrep that does not know an option, and says so before it lists anything
    yield from walk(folder, hidden=hidden, is_over=stop.is_over)


def _names(chunks: Iterable[bytes]) -> Iterator[str]:
    rest = b""
    for chunk in chunks:
        whole, _, rest = (rest + chunk).rpartition(b"\0")
        if whole:
            for name in os.fsdecode(whole).split("\0"):
                yield name[2:]  # without the ./ that every one has
