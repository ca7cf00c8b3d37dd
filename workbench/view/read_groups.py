"""Groups consecutive reads of files, which the screen shows as one line, and says which items have no line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from workbench.tools.manifest import kind_of
from workbench.view.state import ActionItem, Changed, Item, Reads, UserItem

_MOST: Final = 50
"""The most reads of a group, so that looking through it costs little."""
_QUIET: Final = ("proposed", "approved", "running", "done")
"""Phases in which a read is shown as a part of its group; in all others it has a line of its own."""


def is_read(item: Item) -> bool:
    """Return whether the item is a call that views a file or searches the workspace."""
    if not isinstance(item, ActionItem) or item.error:
        return False
    kind = kind_of(item.tool)
    return kind == "search" or (kind == "edit" and item.arguments.get("command") == "view")


def is_plan_change(item: Item) -> bool:
    """Return whether the item is a successful change of the plan, which only the plan's panel shows."""
    return isinstance(item, ActionItem) and kind_of(item.tool) == "plan" and not item.error and item.phase in _QUIET


def join_reads(items: Sequence[Item], item: ActionItem) -> None:
    """Put `item`, the last of the items, into the group of the read before it or into a new one, if it is a read."""
    leave_reads([item])
    if not is_read(item):
        return
    earlier = next((each for each in reversed(items) if each is not item and not is_plan_change(each)), None)
    if isinstance(earlier, ActionItem) and earlier.reads is not None and _continues(earlier, item):
        item.reads = earlier.reads
    else:
        item.reads = Reads()
    item.reads.items.append(item)


def _continues(earlier: ActionItem, item: ActionItem) -> bool:
    is_same_agent = (earlier.agent, earlier.call_id) == (item.agent, item.call_id)
    return is_same_agent and earlier.reads is not None and len(earlier.reads.items) < _MOST


def leave_reads(items: Iterable[Item]) -> None:
    """Remove items from their groups, for example because they are no longer shown."""
    for item in items:
        if isinstance(item, ActionItem) and item.reads is not None:
            item.reads.items[:] = [each for each in item.reads.items if each is not item]
            item.reads = None


def group_of(item: ActionItem) -> list[ActionItem]:
    """Return the reads that share a line with this one, including itself; only itself if it has its own line."""
    if item.reads is None or item.phase not in _QUIET:
        return [item]
    items = item.reads.items
    first = last = next(index for index, each in enumerate(items) if each is item)
    while first and items[first - 1].phase in _QUIET:
        first -= 1
    while last + 1 < len(items) and items[last + 1].phase in _QUIET:
        last += 1
    return items[first : last + 1]


def is_folded(item: ActionItem) -> bool:
    """Return whether the item and others are one line now."""
    return item.reads is not None and not item.reads.is_open and len(group_of(item)) > 1


def toggle(item: ActionItem) -> Changed:
    """Fold the group that a read belongs to into one line, or unfold it; return the changes."""
    if item.reads is None or len(group_of(item)) == 1:
        return Changed()
    item.reads.is_open = not item.reads.is_open
    return Changed(updated=list(item.reads.items))


def is_hidden(item: Item) -> bool:
    """Return whether the item has no line: a queued message, which is shown above the prompt, a change of the plan, or
    a read that is folded into the line of another read.
    """
    if isinstance(item, UserItem):
        return item.queued
    if not isinstance(item, ActionItem):
        return False
    return is_plan_change(item) or (is_folded(item) and group_of(item)[0] is not item)


def line_item_of(item: Item) -> Item:
    """Return the item whose line shows this one: the first of its group if that is folded, or else itself."""
    return group_of(item)[0] if isinstance(item, ActionItem) and is_folded(item) else item
