"""Opens a stored session with those of its permissions that a process of ours has stored, and ignores all others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.agent.agent_kinds import AgentKind
from workbench.config.modes import MODE_NAMES, NEVER
from workbench.config.settings import NO_MODEL, Settings
from workbench.protocol.events import SessionStarted
from workbench.session.model_keys import SessionModels
from workbench.session.session import Session
from workbench.session.state import State
from workbench.session.storage.permissions import permissions_in
from workbench.session.storage.store import Store, first_event
from workbench.text import visible

_MOST_NAMED = 5
_OTHER_URL = "the model's URL in the session file ({}) was not written by ohw and is ignored; choose one with /model"


def apply_flags(path: Path, session: Session, state: State, flags: Mapping[str, Any], url: str) -> list[str]:
    """Apply the flags, ignore the mode and the rules that no process of ours has stored, and return notices about
    these.

    `url` is the result of `unsigned_url`; there is a notice about it, too. A program that the agent started may have
    added all of these while no engine was comparing the files.
    """
    notices = [_OTHER_URL.format(visible(url, lines=False))] if url else []
    if state.mode != NEVER and not state.rules:
        session.set(**_changes(flags, state))
        return notices
    written = permissions_in(path)
    if state.mode == NEVER and not written.is_mode_signed and "mode" not in flags:
        flags = {**flags, "mode": Settings().mode}
        mode = MODE_NAMES[NEVER]
        notices.append(f"the mode {mode} in the session file was not written by ohw and is ignored; /mode never")
    # An unsigned mode that a flag names is stored again, and thereby signed.
    is_confirmed = state.mode == NEVER and not written.is_mode_signed
    session.set(**(flags if is_confirmed else _changes(flags, state)))
    unsigned = [rule for rule in state.rules if rule not in written.signed_rules]
    for rule in unsigned:
        session.set(dropped_rule=rule)
    if unsigned:
        rules = ", ".join(visible(rule, lines=False) for rule in unsigned[:_MOST_NAMED])
        more = f" and {len(unsigned) - _MOST_NAMED} more" if len(unsigned) > _MOST_NAMED else ""
        notices.append(f"rules in the session file were not written by ohw and are ignored: {rules}{more}")
    return notices


def _changes(flags: Mapping[str, Any], state: State) -> dict[str, Any]:
    """Return the flags that change a setting; others would be recorded and shown as changes by the user."""
    current = {"model": {state.model, state.asked_model}, "mode": {state.mode}, "max_steps": {state.max_steps}}
    return {name: value for name, value in flags.items() if current[name] != {value}}


def unsigned_url(store: Store, model: str) -> str:
    """Return the stored URL of the session's model if no process of ours has stored it; otherwise empty.

    Such a session must not use the model, because neither that host nor the provider's own may be the right one.
    """
    first = first_event(store)
    if not first.api_base or first.model != model or permissions_in(store.path).is_api_base_signed:
        return ""
    return first.api_base


def session_flags(settings: Settings, kind: AgentKind | None, *, unusable: bool) -> dict[str, Any]:
    """Return the session's settings that were given as flags, by name, and the model of a sub-agent's kind if it has
    one.

    If the stored model is `unusable` and no other one is given, the session has no model.
    """
    flags: dict[str, Any] = {"model": NO_MODEL} if unusable else {}
    flags |= {name: getattr(settings, name) for name in ("model", "mode", "max_steps") if name in settings.from_flags}
    if model := model_of(kind, settings):
        flags["model"] = model
    return flags


def model_of(kind: AgentKind | None, settings: Settings) -> str:
    """Return the model of a kind of sub-agents if it is one of the user's saved models; otherwise empty."""
    return kind.model if kind is not None and kind.model in settings.models else ""


def has_own_url(settings: Settings, models: SessionModels, started: SessionStarted) -> bool:
    """Return whether the URL of the session's model comes from the user: from a flag or from the settings."""
    return "api_base" in settings.from_flags or models.is_named(started.model)
