"""Several edits of one file in one answer: each is shown on top of what those before it will leave; for `readying`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePath

from workbench.session.ledger import Ledger, OpenAction
from workbench.text import visible
from workbench.tools.executor import FileChange


def left_before(ledger: Ledger, action_id: str) -> dict[str, str | None]:
    """What files will hold when the actions of the batch before this one have run as they are shown, or were taken."""
    texts: dict[str, str | None] = {}
    for name, action in ledger.batch.items():
        if name == action_id:
            return texts
        texts.update(_left_by(action))
    return {}


def _left_by(action: OpenAction) -> dict[str, str | None]:
    if action.decided is not None and action.decided.written is not None:
        return {file.path: file.text for file in action.decided.written}
    return {file.path: file.after for file in action.assessed.preview} if action.assessed is not None else {}


def stacked(changes: Iterable[FileChange], beneath: Mapping[str, str | None]) -> tuple[str, ...]:
    """The files of a preview that was made on top of earlier actions; not every tool knows how to."""
    return tuple(change.path for change in changes if change.path in beneath and change.before == beneath[change.path])


def stacking_reasons(changes: Iterable[FileChange], beneath: Mapping[str, str | None]) -> tuple[str, ...]:
    """A line for each file that an earlier action writes too."""
    seen = [change for change in changes if change.path in beneath]
    on_top = stacked(seen, beneath)
    return tuple(_said(PurePath(change.path).name, change.path, on_top) for change in seen)


def _said(name: str, path: str, on_top: Collection[str]) -> str:
    shown = visible(name, lines=False)
    if path in on_top:
        return f"{shown} is shown as an action before this one will leave it; if not so, you are asked again"
    return f"an action before this one writes {shown} too; once that has run, this is shown and asked anew"
