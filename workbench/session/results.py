"""Builds the results of actions as the log stores them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from workbench.agent.prompts import NO_REASON
from workbench.protocol.events import ActionObserved, FileDelta
from workbench.session.state import OpenAction
from workbench.text import well_formed
from workbench.tools.coercion import error_line
from workbench.tools.pydantic_schema import json_fields
from workbench.tools.schema import Observation

logger = logging.getLogger(__name__)

_CONTENT_FIELDS = ("old_content", "new_content")


def not_run(action_id: str, text: str, *, is_error: bool = True, refused: bool = False) -> ActionObserved:
    """Return the result of an action that did not run.

    `text` is the reason, for the model; `refused` means that the call itself was refused, for example by the tool,
    before the action could start.
    """
    observation = Observation.from_text(text, is_error=is_error).model_dump(mode="json")
    return ActionObserved(action_id=action_id, observation=observation, ran=False, refused=refused)


def none_run(actions: Iterable[OpenAction], text: str) -> list[ActionObserved]:
    """Return a result for each action that will no longer run: its own error, or else `text`."""
    return [not_run(action.proposed.action_id, action.proposed.error or text) for action in actions]


def rejected(action_id: str, note: str, beside: str = "") -> ActionObserved:
    """Return the result of an action that the user rejected; `beside` is additional text for the model."""
    reason = f"The user's note: {note.strip()}" if note.strip() else NO_REASON
    text = f"The user rejected this action; it was not run. {reason}"
    return not_run(action_id, well_formed(f"{text}\n{beside}" if beside else text), is_error=False)


def answered(action_id: str, text: str) -> ActionObserved:
    """Return the result of a question to the user: their answer."""
    return ActionObserved(action_id=action_id, observation=Observation.from_text(text).model_dump(mode="json"))


def observed(
    action_id: str, observation: Observation, duration: float, files: tuple[FileDelta, ...], beside: str = ""
) -> ActionObserved:
    """Return the result of an action that ran; the texts of changed files are stored only in its field `files_changed`.

    `beside` is additional text for the model if the action succeeded.
    """
    changed = () if observation.is_error else tuple(file for file in files if file.before != file.after)
    payload = {**json_fields(observation), **_content_of(observation)}
    if beside and not payload["is_error"]:
        payload["content"].append({"type": "text", "text": well_formed(beside)})
    return ActionObserved(
        action_id=action_id,
        observation=_without_contents(payload, changed),
        duration=duration,
        files_changed=changed,
    )


def _content_of(observation: Observation) -> dict[str, Any]:
    """Return the fields of the content for the model; it is an error if the tool's class fails to compute it."""
    try:
        # Classes of other tools may return a text or dictionaries, as they are accepted for the field.
        sent = Observation(content=observation.to_llm_content, is_error=observation.is_error)
    except Exception as error:  # the tool's own code
        logger.exception("the content of a %s for the model cannot be computed", type(observation).__name__)
        reason = f"The tool has run, but its result cannot be shown: {error_line(error)}."
        sent = Observation.from_text("\n".join(filter(None, [observation.text, reason])), is_error=True)
    return sent.model_dump(mode="json")


def with_text(result: ActionObserved, text: str) -> ActionObserved:
    """Return the result with an additional text for the model."""
    content = [*result.observation.get("content", ()), {"type": "text", "text": well_formed(f"[{text}]")}]
    return replace(result, observation={**result.observation, "content": content})


def _without_contents(payload: dict[str, Any], changed: tuple[FileDelta, ...]) -> dict[str, Any]:
    recorded = {text for file in changed for text in (file.before, file.after)}
    return {
        name: None if name in _CONTENT_FIELDS and isinstance(value, str) and value in recorded else value
        for name, value in payload.items()
    }
