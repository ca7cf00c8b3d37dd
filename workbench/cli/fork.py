"""`ohw fork` creates a session that shares the history of another one up to an event."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli.common import chosen_session, print_line, resolve_event, settings_of
from workbench.errors import UsageError
from workbench.session.forks import fork_at
from workbench.text import first_line, visible, visible_path


def fork(arguments: Namespace) -> int:
    """Fork a session at a checkpoint, or at its end, and print the id of the fork."""
    locations, _ = settings_of(arguments, lenient=True)
    resolve_event(locations, arguments)
    if arguments.event is not None and arguments.at is not None:
        raise UsageError("give EVENT or --at EVENT, not both")
    session = chosen_session(locations, arguments)
    event = arguments.at if arguments.event is None else arguments.event
    forked = fork_at(locations, session.id, event, arguments.worktree)
    print_line(forked.id)
    if forked.point.message:
        print_line(f"Forked before the message: {visible(first_line(forked.point.message.text), lines=False)}")
    if arguments.worktree is not None:
        print_line(f"Its directory: {visible_path(forked.workspace)}")
    print_line(f"Continue with: ohw resume {forked.id}")
    return 0
