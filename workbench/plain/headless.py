"""`ohw run`: one run without a screen, in this process; the answer or JSON lines on stdout, narration on stderr."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from workbench.agent.custom_commands import CommandMessage, CustomCommands
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.engine.launch import log_path
from workbench.engine.logs import write_logs_to
from workbench.engine.worker import Worker, end_without_memory
from workbench.errors import UsageError
from workbench.llm.factory import NO_MODEL_MESSAGE
from workbench.llm.litellm_setup import import_early, is_importing
from workbench.llm.model import Cancel
from workbench.plain.narrator import Narrator, OpenQuestion
from workbench.plain.output import OutputChannel, uses_color, width_of
from workbench.processes.spawn import end_running
from workbench.protocol.codec import to_plain
from workbench.protocol.events import ActionAssessed, ActionProposed, Event, UserMessage, Verdict
from workbench.protocol.live import LiveEvent
from workbench.secrets.masker import MASKER
from workbench.session.actions.assess import is_riskier
from workbench.session.actions.fingerprint import question_changes
from workbench.session.final_answer import FinalAnswer
from workbench.session.mentions import mentioned
from workbench.session.session import EXIT, CommandError, Session
from workbench.session.session_factory import OpenedSession, open_session, start_session
from workbench.session.session_names import new_id
from workbench.session.sub_agents import SubAgent
from workbench.session.workspace.new_directory import repository_around
from workbench.session.workspace_check import checked_workspace
from workbench.text import visible
from workbench.tools.tool import ToolDefinition

EXIT_CODES = {"finished": 0, "error": 1, "stuck": 1, "waiting": 0, "limit": 4, "interrupted": 130}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
QUESTION = 3
"""The exit code of a run that stopped at a question."""
_PIPE = 141
_POLL = 1.0  # seconds between two checks whether the worker is alive
_LAST_STEP = 1.8  # seconds an interrupted step may take
LAST_WORD = 0.3  # seconds an interrupted run waits for its readers


def run(locations: Locations, settings: Settings, workspace: Path, prompt: str, *, as_json: bool) -> int:
    """Run the agent on a prompt in a new session, and return the exit code. Raises WorkbenchError if the run cannot
    start.
    """
    if not settings.model:
        raise UsageError(NO_MODEL_MESSAGE)
    if starts_nothing(prompt):
        return 0
    directory = checked_workspace(workspace)
    message = CustomCommands(lambda: settings, directory, locations).message(prompt) or CommandMessage(prompt)
    end_without_memory()
    gc.freeze()  # what is loaded stays
    gc.set_threshold(50_000)
    import_early(settings.profile(settings.model))
    session_id = new_id(prompt)
    return _run(
        locations,
        session_id,
        partial(start_session, locations, settings, directory, session_id),
        lambda driven: driven.send(message),
        as_json=as_json,
    )


def starts_nothing(prompt: str) -> bool:
    """If the prompt is `/exit`, say on stderr that no run was started, and return True. Raises UsageError if it is
    empty.
    """
    if not prompt.strip():
        raise UsageError("there is nothing to do: give a PROMPT")
    is_exit = prompt.strip() == EXIT
    if is_exit:
        sys.stderr.write("ohw: /exit ends a run; none was started\n")
    return is_exit


class EarlyDecision(NamedTuple):
    """A decision on a pending action of a session, which the user made before that session is opened."""

    action_id: str
    rejection: str | None = None
    """The note to the agent if the action is rejected; None means that it is approved."""
    doubt: str = ""
    """Why the user must look at the action again before it can be approved; empty if that is not needed."""

    def objection(self, before: ActionAssessed | None, now: ActionAssessed | None) -> str:
        """Return why the decision cannot be applied; empty if it can.

        `before` is the assessment that the user has seen, `now` the current one.
        """
        if before is None or now is None:
            return "this action no longer needs a decision"
        if self.rejection is not None:
            return ""
        if is_riskier(now.risk, before.risk):
            return f"it is {now.risk} here, and was {before.risk} when it waited"
        return self.doubt or question_changes(before, now)


def continue_session(
    locations: Locations,
    settings: Settings,
    session_id: str,
    start: str | UserMessage | Sequence[EarlyDecision],
    *,
    denied_directory: str,
    as_json: bool,
) -> int:
    """Continue a stored session: send a prompt or a message again, or decide its questions.

    Returns the exit code of the run. A rule denies access to `denied_directory` and everything below or, if it is in a
    git repository, the whole repository. Raises WorkbenchError if the run cannot start.
    """
    end_without_memory()
    denied = repository_around(Path(denied_directory)) or denied_directory

    def opened(**listeners: Any) -> OpenedSession:
        session = open_session(locations, settings, session_id, **listeners)
        session.session.set(rule=f"deny in {shlex.quote(f'{denied}/**')}")
        return session

    def begin(driven: _Run) -> None:
        if isinstance(start, str):
            driven.send(CommandMessage(start))
        elif isinstance(start, UserMessage):
            driven.repeat(start)
        else:
            driven.decide(start)

    return _run(locations, session_id, opened, begin, as_json=as_json)


def _run(
    locations: Locations,
    session_id: str,
    open_it: Callable[..., OpenedSession],
    begin: Callable[[_Run], None],
    *,
    as_json: bool,
) -> int:
    """Open a session with `open_it`, start its work with `begin`, run the agent and return the exit code."""
    outlet = Outlet(as_json)
    write_logs_to(log_path(locations, session_id))
    with contextlib.redirect_stdout(sys.stderr):  # output of tools must not appear among the events
        opened = open_it(on_event=outlet.event, on_live=outlet.live)
        outlet.show_results_of(opened.tools)
        outlet.notices(opened.notices)
        try:
            driven = _Run(opened, outlet, opened.workspace)
            begin(driven)
            code = driven.undecided or driven.drive()
            questions, unsaved = open_questions(opened.session, driven.waiting_delegates), opened.obstacle
        finally:
            opened.close()
    outlet.close(session_id, questions, unsaved)
    return _force_exit_if_importing(1 if unsaved else code or outlet.failure_code)


def _force_exit_if_importing(code: int) -> int:
    """Return the exit code; if litellm is still being imported, end the process at once instead of waiting for that.

    Everything else must have been closed before.
    """
    if is_importing():
        for out in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                out.flush()
        end_running()
        os._exit(code)
    return code


def open_questions(session: Session, waiting: Sequence[SubAgent]) -> list[OpenQuestion]:
    """Return the open questions to the user; those of sub-agents come first, because the others depend on them."""
    delegated = [
        (action, one.agent) for one in waiting if one.session is not None for action in one.session.questions()
    ]
    return [*delegated, *((action, "") for action in session.questions())]


class Outlet:
    """Writes the output of a run: narration to stderr, and JSON lines or the answer to stdout.

    A failed write raises nothing; instead, the listener set with `on_failure` is called once with the reason.
    """

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._out = OutputChannel(sys.stdout.buffer, "standard output")
        self._err = OutputChannel(sys.stderr.buffer, "standard error")
        self._narrator = Narrator(self._err.write, color=uses_color(sys.stderr), width=width_of(sys.stderr))
        self._answer = FinalAnswer()

    def show_results_of(self, tools: Mapping[str, ToolDefinition]) -> None:
        """Print the results of these tools with the tools' own rendering."""
        self._narrator.tools = tools

    def on_failure(self, listener: Callable[[str], None]) -> None:
        """Set the function to call when writing to a stream fails; call it at once if that has already happened."""
        for channel in (self._out, self._err):
            channel.on_failure = listener
            if channel.problem:
                listener(channel.problem)

    def limit_waits(self, seconds: float) -> None:
        """Give up writing to a stream once its reader has read nothing for this many seconds."""
        for channel in (self._out, self._err):
            channel.limit_waits(seconds)

    @property
    def failure_code(self) -> int:
        """The exit code if a stream has failed; 0 otherwise."""
        failed = [channel for channel in (self._out, self._err) if channel.problem]
        if not failed:
            return 0
        return _PIPE if all(channel.is_pipe_closed for channel in failed) else 1

    def event(self, event: Event) -> None:
        """Write about an event that was added to the session's log, and with JSON the event itself."""
        self._narrator.event(event)
        self._answer.apply(event)
        if self._as_json:
            self._out.write(json_line(event))
        self._out.check()  # in text mode nothing is written before the end, so a closed pipe would go unnoticed

    def proposed(self, event: ActionProposed) -> None:
        """Narrate a call that was proposed before this run."""
        self._narrator.event(event)

    def notices(self, lines: Iterable[str]) -> None:
        """Write notices for the user."""
        for line in lines:
            self._narrator.notice(line)

    def live(self, event: LiveEvent) -> None:
        """Write about a live event if it is a notice, a retry or a wait."""
        self._narrator.live(event)

    def close(self, session_id: str, questions: Sequence[OpenQuestion], unsaved: str) -> None:
        """Write the answer to stdout, and how to resume to stderr, or to stdout if stderr has failed."""
        if not self._as_json and self._answer.text:
            self._out.write(visible(self._answer.text) + "\n")
        if self._out.problem:
            self._narrator.notice(self._out.problem)
        self._narrator.close(session_id, questions, unsaved)
        if self._err.problem and not self._as_json:
            self._out.write(f"ohw: {self._err.problem}; {unsaved or f'resume with: ohw resume {session_id}'}\n")


def json_line(event: Event) -> str:
    """Return an event as a JSON line without secrets, in printable ASCII, so that its content
    cannot control a terminal.
    """
    return json.dumps(MASKER.masked_data(to_plain(event))).replace("\x7f", "\\u007f") + "\n"


class _Run:
    """Runs a session in a worker thread, while the main thread waits and handles signals."""

    def __init__(self, opened: OpenedSession, outlet: Outlet, directory: Path) -> None:
        self._opened = opened
        self._directory = directory
        self._outlet = outlet
        self._rested = threading.Event()
        self._signal = 0
        self.waiting_delegates: list[SubAgent] = []
        """The sub-agents whose questions stopped the run."""
        self.undecided = 0
        """The exit code if a decision could not be applied, in which case nothing may run; otherwise 0."""
        opened.delegates.on_wait(self._on_wait)
        outlet.on_failure(self._stop_unseen)

    def send(self, message: CommandMessage) -> None:
        self._outlet.notices(filter(None, [message.notice]))
        servers = self._opened.servers
        mentions = mentioned(message.text, self._directory, servers.is_resource if servers else None)
        self._opened.session.send(message.text, mentions, message.command)

    def repeat(self, message: UserMessage) -> None:
        """Send an earlier message again, with its files and images."""
        self._opened.session.messages.repeat(message)

    def decide(self, decisions: Sequence[EarlyDecision]) -> None:
        """Assess the open questions again and apply the decisions, up to the first that no longer fits its question.

        All open questions are narrated, because they were proposed before this run.
        """
        session = self._opened.session
        proposals = {action.proposed.action_id: action.proposed for action in session.questions()}
        before = {action.proposed.action_id: action.assessed for action in session.questions()}
        session.open_questions.advance(Cancel(), after_a_run=True)
        for each in decisions:
            if each.action_id in proposals:
                self._outlet.proposed(proposals[each.action_id])
            verdict: Verdict = "approved" if each.rejection is None else "rejected"
            waiting = {action.proposed.action_id: action.assessed for action in session.questions()}
            now = waiting.get(each.action_id)
            try:
                if objection := each.objection(before.get(each.action_id), now):
                    raise CommandError(f"not {verdict}: {objection}")
                session.decide(
                    each.action_id, verdict, fingerprint=now.fingerprint if now else "", note=each.rejection or ""
                )
            except CommandError as error:
                self._outlet.notices([str(error)])
                self.undecided = QUESTION if waiting else 1
                break
        named = {each.action_id for each in decisions}
        for action in session.questions():
            if action.proposed.action_id not in named:
                self._outlet.proposed(action.proposed)

    def drive(self) -> int:
        worker = Worker(self._opened.session, self._rested.set, self._opened.fail)
        before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        try:
            worker.start()
            # If memory runs out, the thread can end before it reports anything.
            while not self._rested.wait(_POLL) and worker.is_alive():
                pass
            worker.stop()
            self.waiting_delegates = self._opened.delegates.waiting
            self._opened.delegates.leave()
            worker.join(_LAST_STEP)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._code()

    def _code(self) -> int:
        if self._signal:
            return 128 + self._signal
        if self._outlet.failure_code:
            return self._outlet.failure_code
        if self.waiting_delegates or self._opened.session.phase == "deciding":
            return QUESTION
        return EXIT_CODES.get(self._opened.session.ended, 1)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._signal:
            self._rested.set()  # a second signal does not wait for the current step
            return
        self._signal = number
        self._outlet.limit_waits(LAST_WORD)
        # Ctrl+C is the user's; whoever sends another signal need not be.
        self._stop_soon("" if number == signal.SIGINT else f"the run was ended by {signal.Signals(number).name}")
        patience = threading.Timer(_LAST_STEP, self._rested.set)
        patience.daemon = True
        patience.start()

    def _on_wait(self) -> None:
        if self._opened.delegates.waiting:
            self._rested.set()

    def _stop_unseen(self, problem: str) -> None:
        """Stop the run before another action starts, because no one can follow it any more."""
        reason = f"stopped, since {problem}"
        self._opened.session.stop(reason)
        self._opened.delegates.stop(reason)

    def _stop_soon(self, reason: str) -> None:
        threading.Thread(target=self._opened.session.interrupt, args=(reason,), daemon=True).start()
