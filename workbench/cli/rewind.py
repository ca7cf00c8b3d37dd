"""`ohw rewind` lists the checkpoints of a session, and moves the session to one of them."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import cast

from workbench.cli.common import chosen_session, print_line, settings_of
from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.protocol.events import Rewound
from workbench.protocol.rewind import RewindScope, RewoundFile
from workbench.session.rewind.checkpoints import Checkpoint, checkpoints_of
from workbench.session.session_factory import open_session
from workbench.session.session_names import session_path
from workbench.session.storage.active_path import rewinds_of
from workbench.session.storage.store import Store
from workbench.text import counted, first_line, revealed, visible_path

_NAMED = 20


def rewind(arguments: Namespace) -> int:
    """List the checkpoints of a session, or move it to one after showing which files change; return 1 if declined."""
    locations, settings = settings_of(arguments)
    session = chosen_session(locations, arguments)
    if arguments.event is None and not arguments.redo:
        return _list(locations, session.id)
    target, scope = _target(locations, session.id, arguments)
    opened = open_session(locations, settings, session.id, on_event=lambda event: None, on_live=lambda live: None)
    try:
        rewinder = opened.session.rewinder
        for line in _described(rewinder.preview(target, scope)):
            print_line(line)
        if not (arguments.yes or _is_confirmed()):
            print_line("Nothing was changed.")
            return 1
        rewinder.rewind(target, scope)
    finally:
        opened.close()
    print_line(f"Done. To undo it: ohw rewind {session.id} --redo   To continue: ohw resume {session.id}")
    return 0


def _list(locations: Locations, session_id: str) -> int:
    with Store.open(session_path(locations, session_id), readonly=True) as store:
        checkpoints = checkpoints_of(store)
    for each in checkpoints:
        when = f"{each.at:%Y-%m-%d %H:%M} UTC"
        files = counted(len(each.files), "file") if each.files else ""
        print_line(f"{each.seq:>6}  {when}  {files:>8}  {_title(each)}".rstrip())
    if not checkpoints:
        print_line("This session has no message yet.")
    return 0


def _title(checkpoint: Checkpoint) -> str:
    text = first_line(checkpoint.text, 70, revealed)
    return f"after: {text}" if checkpoint.tool else f"before: {text}"


def _target(locations: Locations, session_id: str, arguments: Namespace) -> tuple[int, RewindScope]:
    """Return the event to return to, and what moves. Raises UsageError if the argument is no checkpoint."""
    with Store.open(session_path(locations, session_id), readonly=True) as store:
        if arguments.redo:
            rewinds = rewinds_of(store, besides=None)
            if not rewinds:
                raise UsageError("this session was never rewound, so there is nothing to redo")
            return rewinds[-1].seq - 1, rewinds[-1].scope
        targets = {each.seq: each.target for each in checkpoints_of(store)}
    if arguments.event not in targets:
        raise UsageError(f"event {arguments.event} is no checkpoint; `ohw rewind {session_id}` lists them")
    return targets[arguments.event], cast(RewindScope, arguments.only or "both")


def _described(event: Rewound) -> Iterator[str]:
    """Yield the lines that say what a rewind would do to the files."""
    if event.scope == "conversation":
        yield "The files stay as they are."
        return
    lines = [f"{_verb(file):<7} {visible_path(file.path)}" for file in event.files]
    lines += [f"keep    {visible_path(path)}  (you changed it too)" for path in event.conflicts]
    lines += [f"keep    {visible_path(path)}  (not in the file versions)" for path in event.not_covered]
    yield from (f"  {line}" for line in lines[:_NAMED])
    if len(lines) > _NAMED:
        yield f"  and {counted(len(lines) - _NAMED, 'more file')}"
    for copy in event.copies[:_NAMED]:
        yield f"To restore files that a command deleted: ohw restore {copy}"
    if not lines:
        yield "No file differs."


def _verb(file: RewoundFile) -> str:
    if file.is_merged:
        return "merge"
    if not file.after:
        return "delete"
    return "write" if file.before else "create"


def _is_confirmed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("no user can be asked here; --yes rewinds without a question")
    sys.stdout.write("Rewind the session? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
