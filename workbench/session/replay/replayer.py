"""Follows a recorded log: runs each action again where the log says that it ran, and compares the results.

The log is followed from its first event to its last, whatever branch an event is on, because that is the order in which
the files changed. A recorded rewind is applied to the files and the tools again. Decisions are those of the log. What
other programs and the user did to the files comes from the snapshots.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from workbench.agent.responses import ReadCall, read_response
from workbench.llm.model import Cancel, ModelResponse, ToolCall
from workbench.protocol.events import (
    ActionAbandoned,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    Event,
    ModelResponded,
    Rewound,
    VersionTaken,
)
from workbench.risk.paths import within
from workbench.session.actions.integrity import GUARD_NOTE
from workbench.session.limits import NO_TOOLS
from workbench.session.relocator import Relocator
from workbench.session.replay.divergence import Divergence, ReplayResult, difference, lines_of
from workbench.session.replay.files import FileComparison
from workbench.session.replay.normalizing import Normalizer
from workbench.session.replay.outline import Outline
from workbench.session.replay.rerun import Rerun
from workbench.session.replay.selection import Reason, why_not_rerun
from workbench.session.state import OpenAction, State
from workbench.text import first_line
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.execute_ipython_cell import NAME as CELLS
from workbench.tools.tool import ToolDefinition


class Diverged(Exception):
    """Ends a replay after the first divergence, unless all divergences are wanted."""


class ReplayParts(Struct, frozen=True):
    """What a replayer needs."""

    rerun: Rerun
    state: State
    """Empty at first; the replayer applies the events of the log to it."""
    relocator: Relocator
    normalizer: Normalizer
    files: FileComparison
    outline: Outline
    workspace: str
    """The session's own directory, shown in place of the scratch directory."""
    is_live: bool = False
    keeps_going: bool = False


class Replayer:
    """One replay; call `follow` with the events of the log in order."""

    def __init__(self, parts: ReplayParts, cancel: Cancel) -> None:
        self.result = ReplayResult()
        self._parts = parts
        self._cancel = cancel
        self._state, self._rerun, self._tools = parts.state, parts.rerun, parts.rerun.tools
        self._calls: dict[str, ReadCall] = {}
        """By call id: the calls of the last response, as the current program reads them."""
        self._started: list[str] = []
        self._results: dict[str, ActionObserved | ActionAbandoned] = {}
        self._shell, self._cells = ShellRecord(), 0

    def follow(self, event: Event) -> None:
        """Apply the next event. Raises Diverged, SnapshotError or OSError."""
        event = self._parts.relocator.event(event)
        match event:
            case ModelResponded():
                self._read(event)
            case ActionProposed():
                self._compare_call(event)
            case ActionStarted():
                self._started.append(event.action_id)
            case ActionObserved() | ActionAbandoned():
                self._end_action(event)
            case VersionTaken() if event.version:
                self._parts.files.follow(event)
            case Rewound():
                self._rerun.rewound(files=bool(event.files or event.directories))
        self._state.apply(event)
        self._rerun.follow(event)

    def _read(self, event: ModelResponded) -> None:
        calls = read_response(_response(event), self._tools, self._state.call_ids)
        self._calls = {call.call_id: call for call in calls}

    def _compare_call(self, proposed: ActionProposed) -> None:
        """Compare a recorded action with the one that the same response would lead to now."""
        call = self._calls.get(proposed.action_id)
        if proposed.tool not in self._tools or proposed.error == NO_TOOLS:
            return
        recorded = {"tool": proposed.tool, "arguments": proposed.arguments, "error": proposed.error}
        now = {"tool": call.tool, "arguments": call.arguments, "error": call.error} if call else {}
        if recorded != now:
            diff = difference(*(((line, line) for line in lines_of(value)) for value in (recorded, now)))
            self._report(Divergence(proposed.seq, "call", proposed.action_id, proposed.tool, _title(proposed), diff))

    def _open(self, action_id: str) -> OpenAction | None:
        own = self._state.own.get(action_id)
        if own is None:
            return self._state.batch.get(action_id)
        arguments = {"command": own.command}
        return OpenAction(
            ActionProposed(
                action_id=action_id, response_id="", call_id=action_id, tool=SHELL, arguments=arguments, seq=own.seq
            )
        )

    def _end_action(self, event: ActionObserved | ActionAbandoned) -> None:
        action = self._open(event.action_id)
        if action is None:
            return
        if event.action_id in self._started:
            self._run_started(event)
        result = self._results.pop(event.action_id, None)
        if result is None and isinstance(event, ActionObserved) and not event.ran:
            self.result.not_run += 1
            result = self._refusal(event, action)
        elif result is None:
            self._parts.files.use_record(event.action_id)
        if result is None:
            return
        self._compare_result(event, result, action)
        self._compare_files(event, action)

    def _refusal(self, event: ActionObserved, action: OpenAction) -> ActionObserved | None:
        """Return the tool's current result for a call that was refused, or None if there is nothing to compare."""
        is_comparable = event.refused and action.decided is None and action.proposed.tool in self._tools
        return self._rerun.refusal(action) if is_comparable and not action.proposed.error else None

    def _run_started(self, event: ActionObserved | ActionAbandoned) -> None:
        """Run all actions that have started, except those whose recorded result is used."""
        started, self._started = self._started, []
        rerun = []
        for action in filter(None, map(self._open, started)):
            self._parts.files.begin(action.proposed.action_id)
            observation = event.observation if isinstance(event, ActionObserved) else {}
            if action.proposed.tool == SHELL:
                self._adapt_shell(action, observation)
            elif action.proposed.tool == CELLS:
                self._adapt_interpreter(action, observation)
            reason = self._why_not(action, event)
            if action.proposed.tool == SHELL:
                self._shell = ShellRecord(_pid(observation), reason)
            if reason:
                self.result.recorded[reason] = self.result.recorded.get(reason, 0) + 1
            else:
                rerun.append(action)
        self.result.ran += len(rerun)
        self._results |= self._rerun.results(rerun, self._cancel)

    def _why_not(self, action: OpenAction, event: ActionObserved | ActionAbandoned) -> Reason:
        outline, proposed = self._parts.outline, action.proposed
        if proposed.action_id in outline.interrupted or isinstance(event, ActionAbandoned):
            return "an interrupt"
        if proposed.action_id in outline.asked_model:
            return "a model"
        if proposed.tool == SHELL and self._shell.reason and _goes_on(action.arguments):
            return self._shell.reason
        directory = action.assessed.working_dir if action.assessed is not None else ""
        return why_not_rerun(
            self._rerun, self._state.workspace, action, directory=directory, is_live=self._parts.is_live
        )

    def _adapt_shell(self, action: OpenAction, observation: Mapping[str, Any]) -> None:
        """Start a new shell if the session had started one, and change to the directory in which the action ran."""
        tool, recorded = self._tools.get(SHELL), _pid(observation)
        if tool is None or tool.executor is None or _goes_on(action.arguments):
            return
        if self._shell.pid and recorded not in (0, self._shell.pid) and not action.arguments.get("reset"):
            tool.executor.rewound(files=True)
        directory = action.assessed.working_dir if action.assessed is not None else ""
        if directory and within(directory, self._state.workspace) and directory != tool.working_dir():
            tool(tool.action_from_arguments({"command": f"cd {shlex.quote(directory)}"}))

    def _adapt_interpreter(self, action: OpenAction, observation: Mapping[str, Any]) -> None:
        """Start a new interpreter if the session had started one, as its cells being numbered from 1 again shows."""
        tool, count = self._tools.get(CELLS), observation.get("count")
        if tool is None or tool.executor is None or not isinstance(count, int):
            return
        if self._cells >= count and not action.arguments.get("restart"):
            tool.executor.rewound(files=True)
        self._cells = count

    def _compare_result(
        self, event: ActionObserved | ActionAbandoned, result: ActionObserved | ActionAbandoned, action: OpenAction
    ) -> None:
        recorded, now = (each.observation if isinstance(each, ActionObserved) else {} for each in (event, result))
        if event.action_id in self._parts.outline.guarded:
            recorded = _without_guard_note(recorded)
        if recorded == now:
            return
        # what the model got first: the other fields say the same once more
        diff = self._diff(recorded, now, "content") or self._diff(recorded, now)
        if diff:
            self._report(_divergence(event.seq, action, diff))

    def _diff(self, recorded: Mapping[str, Any], now: Mapping[str, Any], name: str = "") -> tuple[str, ...]:
        pids = [pid for each in (recorded, now) if (pid := _pid(each))]
        sides = (each.get(name, ()) if name else each for each in (recorded, now))
        return difference(*(self._parts.normalizer.lines(value, pids) for value in sides))

    def _compare_files(self, event: ActionObserved | ActionAbandoned, action: OpenAction) -> None:
        tool = self._tools.get(action.proposed.tool)
        for path, diff in self._parts.files.compare(event.action_id, may_write=_may_write(action, tool)):
            self._report(_divergence(event.seq, action, diff, path))

    def _report(self, divergence: Divergence) -> None:
        here, there = self._state.workspace, self._parts.workspace
        diff = tuple(line.replace(here, there) for line in divergence.diff)
        self.result.divergences.append(replace(divergence, diff=diff))
        if not self._parts.keeps_going:
            raise Diverged


class ShellRecord(Struct, frozen=True):
    """The session's shell after its last command: its process id, and why that command was not run again, or ""."""

    pid: int = 0
    reason: Reason = ""


def follow_all(replayer: Replayer, events: Iterable[Event], cancel: Cancel) -> None:
    """Follow the events up to the first divergence, or all. Raises KeyboardInterrupt if `cancel` is set."""
    try:
        for event in events:
            replayer.follow(event)
            if cancel.is_set:
                raise KeyboardInterrupt
    except Diverged:
        return


def _divergence(seq: int, action: OpenAction, diff: Sequence[str], path: str = "") -> Divergence:
    proposed = action.proposed
    what = "file" if path else "result"
    return Divergence(seq, what, proposed.action_id, proposed.tool, _title(proposed), tuple(diff), path)  # type: ignore[arg-type]


def _title(proposed: ActionProposed) -> str:
    values: Iterator[Any] = (value for value in proposed.arguments.values() if isinstance(value, str) and value)
    return proposed.summary or first_line(next(values, ""), 200)


def _pid(observation: Mapping[str, Any]) -> int:
    """Return the process id of the shell that an observation is from; 0 if it is not from a shell."""
    metadata = observation.get("metadata")
    pid = metadata.get("pid") if isinstance(metadata, dict) else None
    return pid if isinstance(pid, int) and pid > 0 else 0


def _without_guard_note(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Return an observation without the session's note about protected files, which is not the tool's output."""
    content = observation.get("content", ())
    tools_own = [part for part in content if not str(part.get("text", "")).startswith(f"[{GUARD_NOTE}")]
    return {**observation, "content": tools_own}


def _goes_on(arguments: Mapping[str, Any]) -> bool:
    """Return whether a call of the shell concerns a command that is already running."""
    is_command = bool(str(arguments.get("command", "")).strip()) and not arguments.get("is_input")
    return not is_command and not arguments.get("reset")


def _may_write(action: OpenAction, tool: ToolDefinition | None) -> bool:
    is_low = action.assessed is not None and action.assessed.risk == "LOW"
    return tool is not None and not tool.is_read_only and not (is_low and action.proposed.tool == SHELL)


def _response(event: ModelResponded) -> ModelResponse:
    calls = (ToolCall(call.id, call.name, call.arguments, call.signature) for call in event.tool_calls)
    return ModelResponse(
        id=event.response_id,
        model=event.model,
        text=event.text,
        tool_calls=tuple(calls),
        finish_reason=event.finish_reason,
        incomplete=event.incomplete,
    )
