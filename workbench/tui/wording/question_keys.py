"""The keys that work now in a question, in words that say what they do. Pure; used by the approval screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.tui.approving.proposal import Proposal

Hint = tuple[str, str]
"""A key and what it does; a hint without a key is a remark."""

EDITING: tuple[Hint, ...] = (("ctrl+s", "keep the text"), ("esc", "discard it"))


@dataclass(frozen=True)
class Moment:
    """What the keys depend on: whether all was seen, whether answers count yet, which hunk is chosen (-1 for none)."""

    seen: bool
    armed: bool
    current: int = -1
    waiting: int = 1
    """How many actions wait."""
    may_always: bool = False
    may_edit: bool = True
    """Whether the arguments are the agent's, so that they can be changed."""
    key: Callable[[str, str], str] = lambda name, usual: usual
    """The key of a binding of that id, the person's own or the usual one."""


def writing_keys(*, rejecting: bool) -> tuple[Hint, ...]:
    """While a note is written."""
    return (("enter", "reject" if rejecting else "keep the note"), ("esc", "back"))


def answer_keys(proposal: Proposal, now: Moment, *, has_diff: bool) -> tuple[Hint, ...]:
    """The keys that work now; what still keeps `y` from working is said in its place."""
    key = now.key
    edits: tuple[Hint, ...] = (key("approval.edit", "e"), "edit"), (key("approval.edit-outside", "E"), "$EDITOR")
    edits = edits if now.may_edit else ()
    keys = (_approve(proposal, now), ("n", "reject"), *_hunk_keys(proposal, now), *edits)
    diff: tuple[Hint, ...] = ()
    if has_diff:
        diff = (key("approval.split", "s"), "split"), (key("approval.viewer", "d"), "viewer")
    others: tuple[Hint, ...] = ((_others(now), "others"), ("Y", "all…")) if now.waiting > 1 else ()
    always: tuple[Hint, ...] = (("a", "always…"),) if now.may_always and now.armed else ()
    return (
        *keys,
        *always,
        *diff,
        *others,
        (key("approval.full", "v"), "full text"),
        (key("approval.note", "tab"), "note"),
        ("esc", "later"),
    )


def all_keys(count: int, *, seen: bool, armed: bool) -> tuple[Hint, ...]:
    """Where several are approved at once."""
    approve: Hint = ("Y", f"approve all {count}") if seen else ("", "↓ scroll to the end, then Y")
    return (approve if armed else ("", "Y in a moment…"), ("esc", "back"))


def _approve(proposal: Proposal, now: Moment) -> Hint:
    if not now.armed:
        return "", "y in a moment…"
    if proposal.is_empty:
        return "", "no hunk is taken"
    if not now.seen:
        return "", "↓ scroll to the end, then y"
    if proposal.out:
        return "y", f"approve {len(proposal.accepted)} of {proposal.count}"
    return "y", "approve as edited" if proposal.is_changed else "approve"


def _hunk_keys(proposal: Proposal, now: Moment) -> tuple[Hint, ...]:
    if not proposal.count:
        return ()
    steps, space = (now.key("approval.next", "j"), now.key("approval.previous", "k")), now.key("approval.take", "space")
    take = "take in" if now.current in proposal.out else "leave out"
    return ((f"{steps[0]} {steps[1]}", "hunks"), (space, take)) if proposal.count > 1 else ((space, take),)


def _others(now: Moment) -> str:
    keys = now.key("approval.previous-action", "left"), now.key("approval.next-action", "right")
    return " ".join({"left": "←", "right": "→"}.get(key, key) for key in keys)
