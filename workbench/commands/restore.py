"""`ohw restore`: the copies of what commands deleted, and back with one of them."""

from __future__ import annotations

from argparse import Namespace

from workbench.commands.given import say, workspace_of
from workbench.config import Locations
from workbench.session.versions.copies import Copies
from workbench.session.versions.repository import Repository
from workbench.text import counted, first_line, revealed


def restore(arguments: Namespace) -> int:
    """List the copies of a folder, or bring one back."""
    copies = Copies(Repository(Locations.from_environment(), workspace_of(arguments), "restore"))
    if arguments.id:
        count = copies.restore(arguments.id, force=arguments.force)
        say(f"{counted(count, 'file')} brought back" if count else "every file is there as it was")
        return 0
    for copy in copies.all():
        size = f"{copy.size / 1e6:,.1f} MB" if copy.size >= 100_000 else f"{copy.size:,} bytes"
        what = first_line(copy.command, 80, revealed)
        say(f"{copy.id}  {copy.at[:16].replace('T', ' ')} UTC  {copy.count:>6,} files  {size:>12}  before: {what}")
    if not copies.all():
        say("No copies here: nothing was deleted or changed in this folder that no version holds.")
    return 0
