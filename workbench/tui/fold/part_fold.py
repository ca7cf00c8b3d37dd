"""A change that the person took in part: from then on the action shows what is really written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from workbench.diff.hunks import compare
from workbench.diff.partial import texts_with
from workbench.text import counted
from workbench.tui.fold.state import ActionItem

if TYPE_CHECKING:
    from workbench.protocol.events import ActionDecided


def take_part(item: ActionItem, event: ActionDecided) -> None:
    """Put what the person wants in the place of the proposal, and say how much of that it is."""
    texts = {file.path: file.text for file in event.written or ()}
    item.part = _in_words(item, event, texts)
    item.preview = tuple(replace(delta, after=texts.get(delta.path, delta.after)) for delta in item.preview)


def _in_words(item: ActionItem, event: ActionDecided, texts: dict[str, str | None]) -> str:
    if event.hunks is None:
        return "changed by you"
    diffs = [compare(delta.path, delta.before, delta.after) for delta in item.preview]
    count = sum(len(diff.hunks) for diff in diffs)
    taken = f"{len(event.hunks)} of {counted(count, 'hunk')}"
    is_as_proposed = [texts.get(diff.path) for diff in diffs] == texts_with(diffs, event.hunks)
    if len(event.hunks) == count:
        return "changed by you"
    return taken if is_as_proposed else f"{taken}, changed by you"
