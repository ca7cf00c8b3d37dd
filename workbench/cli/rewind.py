"""`ohw rewind` lists the checkpoints of a session, and moves the session to one of them."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from workbench.cli.common import chosen_session, print_line, resolve_event, settings_of
from workbench.config.locations import Locations
from workbench.errors import UsageError
from workbench.llm.model import Cancel
from workbench.protocol.rewind import RewindScope
from workbench.session.rewind.checkpoints import checkpoints_of
from workbench.session.session_factory import open_session
from workbench.session.session_names import session_path
from workbench.session.storage.active_path import rewinds_of, still_in_effect
from workbench.session.storage.store import Store
from workbench.text import visible_path
from workbench.view.rewind import checkpoint_line, preview_lines, read_checkpoints

_NAMED = 20


def rewind(arguments: Namespace) -> int:
    """List the checkpoints of a session, or show which files change and move the session to one.

    Returns 1 if the user declines.
    """
    locations, settings = settings_of(arguments)
    resolve_event(locations, arguments)
    _check_options(arguments)
    session = chosen_session(locations, arguments)
    if arguments.event is None and not arguments.redo:
        return _list(locations, session.id)
    target, scope = _target(locations, session.id, arguments)
    opened = open_session(locations, settings, session.id, on_event=lambda event: None, on_live=lambda live: None)
    try:
        rewinder = opened.session.rewinder
        preview = rewinder.preview(target, scope)
        overwrites: tuple[str, ...] = ()
        if arguments.overwrite:
            # Records what changed while the session was closed, which would look like a change since the preview.
            opened.session.files.snapshot_now(Cancel())
            overwrites = _chosen(arguments.overwrite, preview.conflicts, opened.workspace)
            preview = rewinder.preview(target, scope, overwrites)
        for line in preview_lines(preview, str(opened.workspace), overwrites):
            print_line(line)
        if preview.conflicts:
            print_line("To use the earlier version of a file in which you changed the same lines: --overwrite PATH")
        if not (arguments.yes or _is_confirmed()):
            print_line("Nothing was changed.")
            return 1
        rewinder.rewind(target, scope, overwrites, previewed=preview.seq)
    finally:
        opened.close()
    print_line(f"Done. {_undo(locations, session.id)}To continue: ohw resume {session.id}")
    return 0


def _undo(locations: Locations, session_id: str) -> str:
    """Return how to undo the last rewind, as the start of a line; empty if no command can.

    A redo is undone through its checkpoint, which exists unless the redo moved only the files.
    """
    with Store.open(session_path(locations, session_id), readonly=True) as store:
        rewinds = rewinds_of(store, besides=None)
    last = rewinds[-1]
    is_redo = last not in still_in_effect(rewinds)
    if is_redo and last.scope == "files":
        return ""
    return f"To undo it: ohw rewind {session_id} {last.seq if is_redo else '--redo'}   "


def _check_options(arguments: Namespace) -> None:
    """Raise UsageError for options that would have no effect."""
    if arguments.redo and arguments.event is not None:
        raise UsageError("--redo returns to before the last rewind; give EVENT or --redo, not both")
    if not arguments.redo and arguments.event is None:
        for option in ("only", "overwrite", "yes"):
            if getattr(arguments, option):
                raise UsageError(f"--{option} needs an EVENT or --redo; `ohw rewind ID` lists the events")


def _list(locations: Locations, session_id: str) -> int:
    rows = read_checkpoints(session_path(locations, session_id))
    for row in rows:
        print_line(checkpoint_line(row))
    if not rows:
        print_line("This session has no message yet.")
    return 0


def _target(locations: Locations, session_id: str, arguments: Namespace) -> tuple[int, RewindScope]:
    """Return the target event and what moves to it. Raises UsageError if the argument is not a checkpoint."""
    with Store.open(session_path(locations, session_id), readonly=True) as store:
        if arguments.redo:
            return _before_last_rewind(store, arguments.only)
        targets = {each.seq: each for each in checkpoints_of(store)}
    if arguments.event not in targets:
        raise UsageError(f"event {arguments.event} is no checkpoint; `ohw rewind {session_id}` lists them")
    chosen = targets[arguments.event]
    return chosen.target, cast(RewindScope, arguments.only or chosen.scope)


def _before_last_rewind(store: Store, only: RewindScope | None) -> tuple[int, RewindScope]:
    rewinds = still_in_effect(rewinds_of(store, besides=None))
    if not rewinds:
        raise UsageError("there is no rewind to undo")
    seq, _, scope = rewinds[-1]
    if only and scope not in ("both", only):
        raise UsageError(f"--redo moves only the {scope} here, because nothing else is left of the last rewind")
    return seq - 1, only or scope


def _chosen(names: Sequence[str], conflicts: Sequence[str], workspace: Path) -> tuple[str, ...]:
    """Return the conflicts named by the user, whose paths are relative to the workspace or the current directory.

    Raises UsageError if a name is not in conflict.
    """
    chosen = []
    for name in names:
        path = Path(name).absolute()
        candidates = (name, os.path.relpath(path.parent.resolve() / path.name, workspace))
        match = next((each for each in candidates if each in conflicts), None)
        if match is None:
            listed = ", ".join(map(visible_path, conflicts[:_NAMED]))
            others = f". Conflicts: {listed}" if conflicts else "; no file is"
            raise UsageError(f"--overwrite: {visible_path(name)} is not in conflict{others}")
        chosen.append(match)
    return tuple(chosen)


def _is_confirmed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("no user can be asked here; --yes rewinds without a question")
    sys.stdout.write("Rewind the session? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
