"""Notices for the user when a session is opened: what was cleaned up, and what cannot be read or used."""

from __future__ import annotations

from workbench.config.locations import Locations
from workbench.rules.rule_set import RuleSet
from workbench.session.storage.cleanup import sweep
from workbench.session.storage.store import Store
from workbench.session.toolset import Toolset


def swept(locations: Locations, *, is_child: bool) -> tuple[str, ...]:
    """Remove the leftovers of killed sessions, unless the new session is a sub-agent's; return a notice if empty
    sessions were deleted.
    """
    removed = sweep(locations) if not is_child else []
    if not removed:
        return ()
    were = "sessions that were" if len(removed) > 1 else "session that was"
    return (f"{len(removed)} {were} killed before anything was in it is removed; nothing was lost",)


def unreadable(store: Store) -> tuple[str, ...]:
    """Return a notice about the part of the log that could not be read."""
    if not store.gaps:
        return ()
    first, more = store.gaps[0], len(store.gaps) - 1
    others = f", and {more} more" if more else ""
    return (f"not all of this session can be read: event {first.first} ({first.reason}){others}",)


def notices_of(host: str, toolset: Toolset, rules: RuleSet) -> tuple[str, ...]:
    """Return notices about the model's host, missing or unknown tools, and faults in rule files."""
    where = (f"the model is called at {host}, which is not its provider's own host",) if host else ()
    return (*where, *toolset.notices, *rules.faults, *rules.unknown_tools(toolset.names))
