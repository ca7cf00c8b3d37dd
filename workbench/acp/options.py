"""The options that an editor can set for a session: its mode and its model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from acp.schema import (
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from workbench.config.modes import MODES, NEVER
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.llm.device_sign_in import needs_sign_in
from workbench.protocol.commands import ChangeSettings
from workbench.text import visible
from workbench.view.state import SessionState

ConfigOption: TypeAlias = SessionConfigOptionSelect | SessionConfigOptionBoolean
"""An option in the protocol's form; ours are all of the first type."""
MODE, MODEL = "mode", "model"
"""The ids of the options."""
_CONFIRM_NEVER = (
    'the mode "Don\'t ask" has to be confirmed, which an editor cannot do; `ohw resume {}` opens this session on the '
    "screen, where it can be set"
)


def mode_state(state: SessionState) -> SessionModeState:
    """Return the current mode and the modes to choose from.

    The mode that never asks is among them only while it is in force: an editor has no way to ask for the confirmation.
    """
    modes = [
        SessionMode(id=name, name=mode.label, description=mode.meaning)
        for name, mode in MODES.items()
        if name != NEVER or state.mode == NEVER
    ]
    return SessionModeState(current_mode_id=state.mode, available_modes=modes)


def config_options(state: SessionState, settings: Settings) -> list[ConfigOption]:
    """Return the options with their current and possible values."""
    modes = [
        SessionConfigSelectOption(value=mode.id, name=mode.name, description=mode.description)
        for mode in mode_state(state).available_modes
    ]
    models = [
        SessionConfigSelectOption(value=name, name=visible(name, lines=False)) for name in _models(state, settings)
    ]
    return [
        SessionConfigOptionSelect(
            type="select", id=MODE, name="Mode", category="mode", current_value=state.mode, options=modes
        ),
        SessionConfigOptionSelect(
            type="select", id=MODEL, name="Model", category="model", current_value=state.model, options=models
        ),
    ]


def change_of(option: str, value: str, state: SessionState, settings: Settings) -> ChangeSettings | None:
    """Return the command that sets an option; None if the option already has this value.

    Raises UsageError if it cannot be set to the value.
    """
    if option == MODE:
        return _mode_change(value, state)
    if option != MODEL:
        raise UsageError(f"there is no option {option!r}; there are {MODE} and {MODEL}")
    if value not in _models(state, settings):
        raise UsageError(f"{value!r} is none of the models to choose from; save it in your settings first")
    if needs_sign_in(settings.profile(value).model):
        raise UsageError(f"{value} may need a sign-in; choose it with /model in `ohw resume {state.session_id}`")
    return None if value == state.model else ChangeSettings(model=value)


def _mode_change(value: str, state: SessionState) -> ChangeSettings | None:
    if value == state.mode:
        return None
    mode = next((name for name in MODES if name == value), None)
    if mode is None:
        raise UsageError(f"there is no mode {value!r}; there are {', '.join(MODES)}")
    if mode == NEVER:
        raise UsageError(_CONFIRM_NEVER.format(state.session_id))
    return ChangeSettings(mode=mode)


def _models(state: SessionState, settings: Settings) -> Iterable[str]:
    """Return the names of the models to choose from: the session's, the default one and the saved ones."""
    return tuple(dict.fromkeys(filter(None, (state.model, settings.model, *settings.models))))
