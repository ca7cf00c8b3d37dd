"""Runs the hooks of a session: those on actions before the actions run, others after the event that they are about.

Each run is recorded. A hook runs in the thread that steps the session, without the log's lock, so that commands and an
interrupt are handled meanwhile. `actions.hook_gate` applies what a hook decides on an action.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from workbench.hooks import answer, claude, occurrence
from workbench.hooks.hook import DECIDING, Hook, HookAnswer, HookEvent
from workbench.hooks.occurrence import Occurrence
from workbench.hooks.runner import HookRunner
from workbench.llm.model import Cancel
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    Event,
    MessageWithdrawn,
    ModelResponded,
    RunEnded,
    UserMessage,
)
from workbench.protocol.hook_run import HookRan
from workbench.secrets.masker import MASKER
from workbench.session.log import Log
from workbench.session.state import State
from workbench.session.storage.store import StoreError
from workbench.text import first_line
from workbench.tools.agent_tool_names import mcp_name
from workbench.tools.hook_files import content_marks
from workbench.tools.tool import ToolDefinition

_AT_CLOSE: Final = 1.5
"""The most seconds that the hooks of the event `session_end` may take together, because the terminal waits for them."""
_CHANGED: Final = "it was not run, because {path} has changed since the session was opened; open it again to use it"
_OF_USER: Final[frozenset[HookEvent]] = frozenset({
    "session_start", "session_end", "user_message", "run_end", "notification"
})  # fmt: skip
"""The hook events that a sub-agent's session does not have."""


class _Waiting(msgspec.Struct, frozen=True):
    """An event for which hooks have not run yet."""

    hook_event: HookEvent
    event: Event | None = None
    proposed: ActionProposed | None = None
    trigger: str = ""


class SessionHooks:
    """Runs the hooks of one session; call `follow` first."""

    def __init__(self, hooks: Sequence[Hook], runner: HookRunner, *, is_child: bool = False) -> None:
        self._hooks = [hook for hook in hooks if not (is_child and hook.event in _OF_USER)]
        self._events = {hook.event for hook in self._hooks}
        self._runner = runner
        self._waiting: deque[_Waiting] = deque()
        self._calls: dict[str, ActionProposed] = {}
        self._runs: dict[str, list[HookRan]] = {}
        self._done: set[tuple[HookEvent, str]] = set()
        self._log: Log | None = None
        self._tools: Mapping[str, ToolDefinition] = {}
        self._show: Callable[[str], None] = lambda detail: None

    def follow(self, log: Log, tools: Mapping[str, ToolDefinition], show: Callable[[str], None]) -> None:
        """Follow the log from now on; `tools` are the session's, and `show` shows one line about what is running."""
        self._log, self._tools, self._show = log, tools, show
        self._calls = {name: action.proposed for name, action in log.state.batch.items()}
        self._enqueue("session_start", trigger="resume" if log.state.turn else "startup")
        log.listen(self._follow)

    def _follow(self, event: Event) -> None:
        """Queue the hook events that an event of the log leads to; called with the log's lock."""
        match event:
            case ActionProposed() | ActionObserved() | ActionDecided() | ActionAssessed():
                self._follow_action(event)
            case ModelResponded():
                self._enqueue("model_call", event)
            case UserMessage():
                self._enqueue("user_message", event)
            case RunEnded():
                self._enqueue("run_end", event, trigger=event.reason)
                self._enqueue("notification", event, trigger=event.reason)

    def _follow_action(self, event: ActionProposed | ActionObserved | ActionDecided | ActionAssessed) -> None:
        proposed = self._calls.get(event.action_id)
        match event:
            case ActionProposed():
                self._calls[event.action_id] = event
            case ActionObserved():
                self._calls.pop(event.action_id, None)
                self._runs.pop(event.action_id, None)
                self._done -= {(each, event.action_id) for each in DECIDING}
                if event.ran and proposed is not None:
                    self._enqueue("after_action", event, proposed)
            case ActionDecided():
                if event.edited is not None and proposed is not None:
                    self._calls[event.action_id] = proposed = replace(proposed, arguments=event.edited)
                self._enqueue("after_decision", event, proposed)
            case ActionAssessed() if event.needs_decision or event.needs_answer:
                self._enqueue("notification", event, proposed)

    def _enqueue(
        self,
        hook_event: HookEvent,
        event: Event | None = None,
        proposed: ActionProposed | None = None,
        trigger: str = "",
    ) -> None:
        if hook_event in self._events:
            self._waiting.append(_Waiting(hook_event, event, proposed, trigger))

    def catch_up(self, cancel: Cancel) -> None:
        """Run the hooks of everything that has happened since the last call. Raises StoreError."""
        while self._waiting and not cancel.is_set:
            waiting = self._waiting.popleft()
            about = self._occurrence(waiting.hook_event, waiting.event, waiting.proposed, waiting.trigger)
            runs = self._ran(about, cancel)
            self._commit(*runs)
            if isinstance(waiting.event, UserMessage):
                self._block(waiting.event, runs)

    def _block(self, message: UserMessage, runs: Sequence[HookRan]) -> None:
        """Withdraw a message that a hook denied, before the model reads it."""
        refusal = next((run for run in runs if run.decision == "deny"), None)
        log = self._bound
        with log.lock:
            if refusal is None or message.seq not in log.state.unread:
                return
            log.commit(MessageWithdrawn(message=message.seq))
            if not log.state.unread and log.state.is_running and log.state.next_action is None:
                why = first_line(f'hook "{refusal.name}" blocked the message: {refusal.explanation}', 300)
                log.commit(RunEnded(reason="interrupted", detail=why))

    def run_now(self, hook_event: HookEvent, cancel: Cancel, trigger: str = "") -> None:
        """Run the hooks of something that is about to happen. Raises StoreError."""
        if hook_event in self._events:
            self._commit(*self._ran(self._occurrence(hook_event, trigger=trigger), cancel))

    def concern(self, hook_event: HookEvent, proposed: ActionProposed) -> bool:
        """Return whether there are hooks for this event of this action."""
        return hook_event in self._events and any(self._matching(self._occurrence(hook_event, proposed=proposed)))

    def run_for(self, hook_event: HookEvent, proposed: ActionProposed, event: Event, cancel: Cancel) -> None:
        """Run the hooks for an action until one denies it, and record the runs; `event` is what they are about.

        Raises StoreError.
        """
        runs = self._ran(self._occurrence(hook_event, event, proposed), cancel)
        self._done.add((hook_event, proposed.action_id))
        self._runs.setdefault(proposed.action_id, []).extend(runs)
        self._commit(*runs)

    def have_run_for(self, hook_event: HookEvent, action_id: str) -> bool:
        """Return whether the hooks of this event have run for an action in this process."""
        return (hook_event, action_id) in self._done

    def runs_for(self, action_id: str) -> Sequence[HookRan]:
        """Return the runs for an action in this process.

        Other runs in the log may be forged, because any program of the user can write a session file.
        """
        return self._runs.get(action_id, ())

    @property
    def _bound(self) -> Log:
        assert self._log is not None, "hooks follow no log yet"
        return self._log

    def _commit(self, *runs: HookRan) -> None:
        if runs:
            self._bound.commit(*runs, happened=True)

    def _occurrence(
        self,
        hook_event: HookEvent,
        event: Event | None = None,
        proposed: ActionProposed | None = None,
        trigger: str = "",
    ) -> Occurrence:
        state: State = self._bound.state
        tool = self._tools.get(proposed.tool) if proposed is not None else None
        name = mcp_name(tool) if tool is not None else ""
        return Occurrence(hook_event, state.session_id, state.workspace, state.mode, event, proposed, trigger, name)

    def _matching(self, about: Occurrence) -> Iterator[Hook]:
        names = {"ohw": about.names, "claude": claude.names(about)}
        for hook in self._hooks:
            if hook.event == about.hook_event and hook.matches(names[hook.format]):
                yield hook

    def _ran(self, about: Occurrence, cancel: Cancel, seconds: float = float("inf")) -> list[HookRan]:
        """Run the hooks one after another, for at most `seconds` in all, up to the first one that denies."""
        runs: list[HookRan] = []
        until = time.monotonic() + seconds
        for hook in self._matching(about):
            remaining = until - time.monotonic()
            if cancel.is_set or remaining <= 0:
                break
            run = self._run(replace(hook, timeout=min(hook.timeout, remaining)), about, cancel)
            runs.append(run)
            if run.decision == "deny":
                break
            if run.arguments is not None and about.proposed is not None:
                about = replace(about, proposed=replace(about.proposed, arguments=run.arguments))
        return runs

    def _run(self, hook: Hook, about: Occurrence, cancel: Cancel) -> HookRan:
        ran = HookRan(
            name=hook.name,
            source=str(hook.source),
            event=hook.event,
            action_id=about.proposed.action_id if about.proposed is not None else "",
            about=about.event.seq if about.event is not None else 0,
        )
        if changed := _changed_file(hook, about.workspace):
            return replace(ran, failure=_CHANGED.format(path=changed))
        form = claude if hook.format == "claude" else occurrence
        env = {"OHW_WORKSPACE": about.workspace, "OHW_SESSION": about.session, "CLAUDE_PROJECT_DIR": about.workspace}
        show = partial(self._show, f"running the hook {first_line(hook.name, 60)}")
        run = self._runner.run(hook, form.payload(about), cancel, env, show)
        result = claude.answer_of(run, about) if hook.format == "claude" else answer.answer_of(run)
        return _with_answer(replace(ran, exit=run.status, duration=run.duration), result)

    def close(self) -> None:
        """Run the hooks of the session's end, and end the processes of hooks."""
        if self._log is not None and "session_end" in self._events:
            with suppress(StoreError):
                self._commit(*self._ran(self._occurrence("session_end", trigger="other"), Cancel(), _AT_CLOSE))
        self._runner.close()


def _changed_file(hook: Hook, workspace: str) -> str:
    """Return a file that a hook names and that has changed since the session was opened; empty if there is none."""
    now = content_marks(hook.command, Path(workspace)) if hook.files else {}
    return next((path for path, mark in hook.files.items() if now.get(path) != mark), "")


def _with_answer(ran: HookRan, result: HookAnswer) -> HookRan:
    """Return the record of a run with its answer; secrets are masked in what is shown and in what the model reads."""
    masked = MASKER.masked
    return replace(
        ran,
        decision=result.decision,
        explanation=masked(result.explanation),
        context=masked(result.context),
        arguments=result.arguments,
        message=masked(first_line(result.message, 300)),
        failure=masked(result.failure),
    )
