"""Notices for the user when a session is opened: what was cleaned up, and what cannot be read or used."""

from __future__ import annotations

from collections.abc import Callable

from workbench.config.locations import Locations
from workbench.config.modes import NEVER
from workbench.protocol.live import LiveEvent, Notice
from workbench.rules.rule_set import RuleSet
from workbench.session.model_keys import SessionModels
from workbench.session.session import Session
from workbench.session.state import State
from workbench.session.storage.cleanup import sweep
from workbench.session.storage.store import Store
from workbench.session.toolset import Toolset
from workbench.text import visible

_NOT_CONFINED = "nothing confines what runs without a question"


def swept(locations: Locations, *, is_child: bool) -> tuple[str, ...]:
    """Remove the leftovers of killed sessions, unless the new session is a sub-agent's.

    Return a notice if empty sessions were deleted, else nothing.
    """
    removed = sweep(locations) if not is_child else []
    if not removed:
        return ()
    were = "sessions that were" if len(removed) > 1 else "session that was"
    return (f"{len(removed)} {were} killed before anything was in it is removed; nothing was lost",)


def unreadable(store: Store) -> tuple[str, ...]:
    """Return a notice about the part of the log that could not be read; nothing if all could be."""
    if not store.gaps:
        return ()
    first, more = store.gaps[0], len(store.gaps) - 1
    others = f", and {more} more" if more else ""
    return (f"not all of this session can be read: event {first.first} ({first.reason}){others}",)


def notices_of(models: SessionModels, model: str, toolset: Toolset, rules: RuleSet) -> tuple[str, ...]:
    """Return notices about the model, missing or unknown tools, and faults in rule files.

    Those about the model say that it or a fallback model has no provider, and at which host it is called.
    """
    ended = (problem if problem.endswith("?") else f"{problem}." for problem in models.problems(model))
    unusable = (f"{problem} Choose another with /model." for problem in ended)
    host = "" if models.is_named(model) else models.host(model)
    where = (f"the model is called at {host}, which is not its provider's own host",) if host else ()
    return (*unusable, *where, *toolset.notices, *rules.faults, *rules.unknown_tools(toolset.names))


def show_sandbox(session: Session, state: State, show: Callable[[LiveEvent], None]) -> None:
    """Show whether there is a sandbox, and notices about what it does not protect.

    There is a notice if nothing, or only a part, is confined in the mode that never asks, or if not all of the
    workspace is protected.
    """
    now = session.state
    show(now)
    if state.mode == NEVER and now.sandbox_reason:
        why, is_partial = visible(now.sandbox_reason, lines=False), now.sandbox == "partial"
        confined = "what runs without a question is confined in part" if is_partial else _NOT_CONFINED
        wall = "the sandbox is partial here" if is_partial else "there is no sandbox here"
        show(Notice(text=f"{confined}: {wall} ({why})"))
    if now.sandbox_limit and now.sandbox != "partial":
        show(Notice(text=f"the sandbox does not protect everything: {now.sandbox_limit}"))
