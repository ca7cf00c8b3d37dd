"""Computes what an editor is sent about a session: the protocol's updates for each message from the engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from acp.helpers import SessionUpdate as CommonUpdate
from acp.helpers import (
    plan_entry,
    update_agent_message_text,
    update_agent_thought_text,
    update_current_mode,
    update_plan,
    update_user_message_text,
)
from acp.schema import (
    ConfigOptionUpdate,
    Cost,
    PlanEntry,
    PlanEntryStatus,
    SessionInfoUpdate,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
)
from msgspec.structs import asdict

from workbench.acp.options import ConfigOption
from workbench.acp.tool_calls import CallView, call_view
from workbench.client.client import Incoming
from workbench.protocol.events import ModelResponded, RunEnded, SettingsChanged
from workbench.protocol.live import ReasoningDelta, TextDelta
from workbench.text import visible, well_formed
from workbench.tools.manifest import kind_of
from workbench.view.state import ActionItem, AgentItem, Changed, Item, SessionState, UserItem

SessionUpdate: TypeAlias = CommonUpdate | ConfigOptionUpdate | UsageUpdate
_TASK_STATUS: Final[dict[str, PlanEntryStatus]] = {
    "todo": "pending",
    "in_progress": "in_progress",
    "done": "completed",
}
_SPOKEN: Final = ("final", "question")
"""The kinds of tools whose calls are shown as messages from the agent."""


class UpdateStream:
    """Computes the updates of one session, and records what the editor has already been sent."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._calls: dict[str, CallView] = {}
        self._asked: set[str] = set()
        self._messages: set[int] = set()
        """The event numbers of the user's messages that the editor shows."""
        self._expected: list[str] = []
        """The messages that the editor has sent, and therefore already shows."""
        self._entries: list[PlanEntry] = []
        self._text = self._thought = ""
        """The streamed part of the answer that is not complete yet."""

    def expect(self, text: str) -> None:
        """Record a message that the editor itself sends, so that it is not sent back to the editor."""
        self._expected.append(well_formed(text))

    def asked(self, action_id: str) -> None:
        """Record that a permission request changed how the editor shows an action; the action's next update restores
        that.
        """
        self._asked.add(action_id)

    def of(self, message: Incoming, changed: Changed) -> Iterator[SessionUpdate]:
        """Yield the updates for a message from the engine; `changed` is what it changed when it was applied to the
        state.
        """
        if isinstance(message, TextDelta):
            self._text += message.text
            yield update_agent_message_text(visible(message.text))
        elif isinstance(message, ReasoningDelta):
            self._thought += message.text
            yield update_agent_thought_text(visible(message.text))
        elif isinstance(message, ModelResponded):
            yield from self._rest(message)
            yield from self._usage()
        elif isinstance(message, RunEnded):
            self._text = self._thought = ""
        for item in [*changed.added, *changed.updated]:
            yield from self._item(item)
        if changed.tasks:
            yield from self._plan()

    def replay(self, items: Iterable[Item]) -> Iterator[SessionUpdate]:
        """Yield the updates that show these items of the session's history, and the agent's plan."""
        for item in items:
            if isinstance(item, AgentItem):
                yield from _answer(item.reasoning, item.text)
            else:
                yield from self._item(item)
        yield from self._plan()

    def _plan(self) -> Iterator[SessionUpdate]:
        """Yield the agent's plan, unless the editor already has it."""
        tasks = self._state.tasks
        entries = [plan_entry(visible(task.title), status=_TASK_STATUS[task.status]) for task in tasks]
        if entries != self._entries:
            self._entries = entries
            yield update_plan(entries)

    def settings(self, event: SettingsChanged, options: Sequence[ConfigOption]) -> Iterator[SessionUpdate]:
        """Yield the updates for changed settings; `options` are the session's options with their new values."""
        if event.mode is not None:
            yield update_current_mode(event.mode)
        if event.mode is not None or event.model is not None:
            yield ConfigOptionUpdate(session_update="config_option_update", config_options=list(options))
        if event.title is not None:
            title = visible(event.title, lines=False)
            yield SessionInfoUpdate(session_update="session_info_update", title=title)

    def _rest(self, response: ModelResponded) -> Iterator[SessionUpdate]:
        """Yield the part of a complete response that was not streamed."""
        thought, text = _unsent(response.reasoning, self._thought), _unsent(response.text, self._text)
        self._text = self._thought = ""
        yield from _answer(thought, text)

    def _usage(self) -> Iterator[SessionUpdate]:
        """Yield the context usage and the cost of the session, if the usage is known; the cost may be omitted."""
        state = self._state
        if state.input_tokens is not None and state.window:
            cost = None if state.cost is None else Cost(amount=state.cost, currency="USD")
            yield UsageUpdate(session_update="usage_update", used=state.input_tokens, size=state.window, cost=cost)

    def _item(self, item: Item) -> Iterator[SessionUpdate]:
        if isinstance(item, ActionItem):
            yield from self._call(item)
        elif isinstance(item, UserItem):
            yield from self._message(item)

    def _message(self, item: UserItem) -> Iterator[SessionUpdate]:
        """Yield a message from the user that another screen has sent, once."""
        if item.seq in self._messages:
            return
        self._messages.add(item.seq)
        if item.text in self._expected:
            self._expected.remove(item.text)
        else:
            yield update_user_message_text(visible(item.text))

    def _call(self, item: ActionItem) -> Iterator[SessionUpdate]:
        if kind_of(item.tool) in _SPOKEN and item.phase != "failed" and not item.agent:
            yield from self._spoken(item)
            return
        view, before = call_view(item, self._state.workspace), self._calls.get(item.action_id)
        is_restored = item.action_id in self._asked and item.phase != "waiting"
        self._asked -= {item.action_id} if is_restored else set()
        if view == before and not is_restored:
            return
        self._calls[item.action_id] = view
        fields = asdict(view)
        if before is None:
            yield ToolCallStart(session_update="tool_call", tool_call_id=item.action_id, **fields)
        else:
            changed = {name: value for name, value in fields.items() if is_restored or value != getattr(before, name)}
            yield ToolCallProgress(session_update="tool_call_update", tool_call_id=item.action_id, **changed)

    def _spoken(self, item: ActionItem) -> Iterator[SessionUpdate]:
        """Yield the agent's final message, once."""
        message = str(item.arguments.get("message", "")).strip()
        if item.phase == "done" and message and kind_of(item.tool) == "final" and item.action_id not in self._calls:
            self._calls[item.action_id] = call_view(item, self._state.workspace)
            yield update_agent_message_text(visible(message))


def notice(text: str) -> SessionUpdate:
    """Return a line from the workbench itself as a message of the agent; the protocol has no update
    of its own for it.
    """
    return update_agent_message_text(f"\n\n> {visible(text, lines=False)}\n\n")


def _answer(thought: str, text: str) -> Iterator[SessionUpdate]:
    if thought.strip():
        yield update_agent_thought_text(visible(thought))
    if text.strip():
        yield update_agent_message_text(visible(text))


def _unsent(whole: str, streamed: str) -> str:
    """Return the part of a text that was not streamed; the whole text if a part of the stream was lost."""
    whole, streamed = whole.strip(), streamed.strip()
    if whole.startswith(streamed):
        return whole[len(streamed) :]
    return "" if whole in streamed else f"\n\n{whole}"
