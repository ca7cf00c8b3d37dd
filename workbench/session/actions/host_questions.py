"""Decisions about the hosts that commands in the sandbox connect to: by rule, by mode, or by the user.

A question is a step of the running call, like a question of an MCP server, and each decision is recorded as such a
step. A decision applies to one host and port until the call ends; "always allow" saves a rule, for the session or
longer.
"""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec.structs

from workbench.config.modes import NEVER
from workbench.processes.launch import AGENT, SERVER
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionEvent,
    ActionProposed,
    ActionStarted,
    AlwaysChoice,
    DelegateStep,
    Event,
    Verdict,
)
from workbench.protocol.presentation import Presentation
from workbench.rules.offers import offers
from workbench.rules.policy import mode_label
from workbench.rules.rule import Rule
from workbench.rules.rule_set import BROKEN, RuleSet, deciding
from workbench.rules.subject import NETWORK, Subject
from workbench.sandbox.host_access import HostRequest, HostVerdict, endpoint_text
from workbench.session.actions.call_questions import CallQuestion, WaitingQuestions
from workbench.session.actions.decide import AlwaysRule, CommandError, remembered
from workbench.session.actions.run import CURRENT_CALL, CallContext, RunningCall, RunningCalls
from workbench.session.results import answered, not_run
from workbench.session.state import OpenAction, State
from workbench.text import cut_middle, visible, well_formed
from workbench.tools.ask_human.question import SANDBOX
from workbench.tools.manifest import ToolKind
from workbench.tools.web_read import NAME as WEB_READ

_REASONS: Final = (
    "the sandbox lets connections out only to hosts that you allow",
    "only this host and port are allowed; TLS is not opened, so what is sent is not checked",
)
_LONGEST: Final = 200
_SHELLS: Final = frozenset({"bash", "sh", "zsh"})
_UNKNOWN_PROGRAM: Final = "a program of the shell"
_TIMES_MORE: Final = 10
_CLOSING: Final = 1.0
_NOBODY: Final = "no user is there to be asked about it"
_NO_CALL: Final = "no tool call runs, so the user cannot be asked about it; a rule can allow it"
_NOT_OPEN: Final = "the session has ended, so the user cannot be asked about it"
_OPENING: Final = 60.0
"""How long a server's connection waits until the session is open, in seconds."""
_MOST_HOSTS: Final = 200
"""The most hosts that one call, or one server outside of calls, may try, because each is recorded."""
_TOO_MANY: Final = f"more than {_MOST_HOSTS} hosts were tried"
_WITHDRAWN: Final = "the command ended, or gave up, before the user decided"
_PRESENTATION: Final = Presentation(
    icon="⇄",
    ascii_icon="=",
    noun="connection",
    activity="connecting",
    headline="[{command} wants ]{host:exact}",
    title="Connect to {host:exact}[ for {command:exact}]",
    subject="host",
    result="head",
)


class HostQuestion(CallQuestion):
    """A question about a host that waits for the user."""

    def __init__(self, assessed: ActionAssessed, remember: Callable[[AlwaysRule, ActionDecided], list[Event]]) -> None:
        super().__init__(assessed.action_id)
        self.events: list[Event] = []
        """The user's decision, and the session rules that it adds."""
        self.note = ""
        self._assessed = assessed
        self._remember = remember

    def decide(
        self,
        action_id: str,
        verdict: Verdict,
        *,
        fingerprint: str,
        always: AlwaysRule | None = None,
        note: str = "",
        **fields: Any,
    ) -> None:
        """Accept the user's decision; rules for other sessions are saved at once. Raises CommandError."""
        if verdict == "edited":
            raise CommandError("a connection is allowed or rejected as it is")
        if fingerprint != self._assessed.fingerprint and verdict != "rejected":
            raise CommandError("the action has changed since it was shown; look at it again")
        self.note = well_formed(note).strip()
        decided = ActionDecided(
            action_id=action_id,
            verdict=verdict,
            by="person",
            note=self.note,
            fingerprint=self._assessed.fingerprint,
        )
        self.events = self._remember(always, decided) if always is not None else [decided]
        self._finish(verdict)


class _Key(NamedTuple):
    """What a verdict applies to: a host and port, in one call or (outside of calls) for one program; or uploading
    more.
    """

    scope: str
    host: str
    port: int
    is_upload: bool


class HostQuestions(WaitingQuestions[CallQuestion]):
    """Decides on the hosts for one session; the sandbox's proxy calls `decide`, from any thread."""

    def __init__(
        self,
        calls: RunningCalls,
        rules: RuleSet,
        state: State,
        *,
        has_user: bool,
        parent: HostQuestions | None = None,
    ) -> None:
        """`calls` are the running calls of the session. For a sub-agent, `parent` is the same for the session that
        started it: that one asks the user.
        """
        super().__init__()
        self._calls = calls
        self._rules = rules
        self._state = state
        self._parent = parent
        self._delegating = CURRENT_CALL.get() if parent is not None else None
        self._has_user = parent.has_user if parent is not None else has_user
        self._decided: dict[_Key, tuple[HostVerdict | None, HostVerdict]] = {}
        """By key: the ruling of rules and mode at the time of the verdict, and the verdict, which is reused while they
        agree.
        """
        self._between: RunningCall | None = None
        """Takes the place of a call for connections that servers make while no call runs."""
        self._is_open = threading.Event()

    def begin(self, context: CallContext) -> None:
        """Let servers ask outside of calls from now on; their questions do not belong to an action."""
        nothing = ActionProposed(action_id="", response_id="", call_id="", tool=NETWORK, arguments={})
        self._between = RunningCall(nothing, context)
        self._is_open.set()

    def close(self) -> None:
        """Withdraw the questions outside of calls; servers cannot ask any more."""
        between, self._between = self._between, None
        self._is_open.set()
        if between is not None:
            between.end()

    @property
    def has_user(self) -> bool:
        """Whether a user can answer, now or later."""
        return self._has_user

    @property
    def session_rules(self) -> tuple[str, ...]:
        """The rules of this session and of its parent sessions, one line each."""
        above = self._parent.session_rules if self._parent is not None else ()
        return (*self._state.rules, *above)

    def is_running(self, label: str) -> bool:
        """Return whether a call of this session is running the program with this label."""
        return self._calls.last(_kind_of_call(label)) is not None

    def decide(self, request: HostRequest) -> HostVerdict:
        """Return the verdict on a host; the request's label is the name of the program that was started in the
        sandbox.
        """
        is_server = request.label.startswith((f"{SERVER} ", f"{AGENT} "))
        call = self._server_call(request.label) if is_server else self._calls.last(_kind_of_call(request.label))
        if call is None:
            rule, ruling = self._ruling(request, self._subject(request, ""))
            return ruling or HostVerdict(False, _NOT_OPEN if is_server else _NO_CALL, rule)
        key = _Key(_scope_of(call, request), request.host, request.port, request.uploaded > 0)
        _, ruling = self.ruling(request, "")
        before, verdict = self._decided.get(key, (None, None))
        if verdict is not None and before == ruling:
            return verdict
        if sum(each.scope == key.scope for each in self._decided) >= _MOST_HOSTS:
            return HostVerdict(False, _TOO_MANY)
        verdict, is_final = _Decision(self, call, request).verdict()
        # Each amount that is sent is asked about, until the user rejects one.
        if is_final and not (request.uploaded and verdict.allowed):
            self._decided[key] = (ruling, verdict)
            call.at_end(lambda: self._forget(key))
        return verdict

    def _server_call(self, program: str) -> RunningCall | None:
        """Return the call that the server `program` is running, or the stand-in for one once the session is open.

        For another agent, the stand-in is that of its own session, otherwise that of the top session.
        """
        call = self._calls.last_of(program)
        if call is not None:
            return call
        owner = self if program.startswith(f"{AGENT} ") else self.root()
        owner._is_open.wait(_OPENING)
        return owner._between

    def _forget(self, key: _Key) -> None:
        self._decided.pop(key, None)

    def root(self) -> HostQuestions:
        """Return the questions of the top session, which front ends show."""
        return self if self._parent is None else self._parent.root()

    def context(self, call: CallContext) -> CallContext:
        """Return the call that front ends show while this one runs: the call itself, or the one that started the
        sub-agent.
        """
        if self._parent is None or self._delegating is None:
            return call
        return self._parent.context(self._delegating)

    def ruling(self, request: HostRequest, command: str) -> tuple[str, HostVerdict | None]:
        """Return the rule or mode that applies, and the verdict; the verdict is None if the user is to be asked."""
        return self._ruling(request, self._subject(request, command))

    def assessed(self, request: HostRequest, command: str, action_id: str, rule: str) -> ActionAssessed:
        """Return the question about a host, with the rules that "always allow" may save. `rule` is what asks."""
        assessed = ActionAssessed(
            action_id=action_id, risk="MEDIUM", reasons=_REASONS, rule=rule, fingerprint=uuid.uuid4().hex
        )
        if request.uploaded:
            sent, more = _megabytes(request.uploaded), _megabytes(_TIMES_MORE * request.uploaded)
            reasons = (f"{sent} was sent to this host; approving it permits {more} more", *_REASONS[1:])
            return msgspec.structs.replace(assessed, reasons=reasons, no_always="it is asked about by the amount sent")
        subject = self._subject(request, command)
        offered, why = offers(subject, "MEDIUM", self._state.mode, self.rules_in_force())
        choices = tuple(AlwaysChoice(label=offer.label, rules=offer.lines) for offer in offered)
        first = "\n".join(choices[0].rules) if choices else ""
        return msgspec.structs.replace(assessed, always_choices=choices, always=first, no_always=why)

    def remember(self, proposed: ActionProposed, assessed: ActionAssessed) -> Callable[..., list[Event]]:
        """Return a function that saves the chosen rule and returns the events of the decision. It raises
        CommandError.
        """
        open_action = OpenAction(proposed, assessed)
        return lambda always, decided: remembered(open_action, always, self._rules, [decided])

    def _ruling(self, request: HostRequest, subject: Subject) -> tuple[str, HostVerdict | None]:
        rules, mode = self.rules_in_force(), self._state.mode
        rule = deciding(rules, subject)
        if rule is None or rule.verdict == "allow":
            # What the user keeps the agent from reading with one tool, it must not read with another.
            reading = deciding(rules, replace(subject, tool=WEB_READ))
            rule = reading if reading is not None and reading.verdict != "allow" else rule
        if rule is not None and rule.verdict == "deny":
            why = f" ({rule.reason.rstrip('.')})" if rule.reason else ""
            return rule.text, HostVerdict(False, f"a rule of the user denies it: {rule.text}{why}")
        if rule is not None and rule.verdict == "ask":
            return rule.text, None
        if rule is not None and mode not in ("ask", "plan") and not self._rules.is_broken and not request.uploaded:
            return rule.text, HostVerdict(True, grant=rule.text)
        if mode == NEVER:
            return mode_label(mode), HostVerdict(False, _not_listed(request))
        return BROKEN if self._rules.is_broken else mode_label(mode), None

    def rules_in_force(self) -> tuple[Rule, ...]:
        """Return the rules of the files, of this session and of its parent sessions."""
        return self._rules.rules(self.session_rules)

    def granting(self) -> tuple[Rule, ...]:
        """Return the rules that may let commands write more directories: none while a rules file is broken."""
        return () if self._rules.is_broken else self.rules_in_force()

    def _subject(self, request: HostRequest, command: str) -> Subject:
        arguments = _arguments(request, command)
        return Subject(NETWORK, arguments, (), (_url(request),), self._state.workspace, "")


class _Decision:
    """One decision on a host during a call; its steps are recorded in the log."""

    _numbers = itertools.count(1)

    def __init__(self, questions: HostQuestions, call: RunningCall, request: HostRequest) -> None:
        self._questions = questions
        self._call = call
        self._context = questions.context(call.context)
        self._request = request
        self._endpoint = endpoint_text(request.host, request.port)
        self._command = _command_of(request)
        self._action_id = f"host-{uuid.uuid4().hex[:8]}:{next(self._numbers)}"
        self._closed = threading.Event()

    def verdict(self) -> tuple[HostVerdict, bool]:
        """Return the verdict, and whether it applies until the call ends."""
        proposed = host_proposed(self._request, self._command, self._action_id)
        by, ruling = self._questions.ruling(self._request, self._command)
        if ruling is None and not self._questions.has_user:
            by, ruling = "a session without a user", HostVerdict(False, _NOBODY)
        try:
            self._report(proposed)
            if ruling is None:
                assessed = self._questions.assessed(self._request, self._command, self._action_id, by)
                return self._asked(proposed, assessed)
            return self._recorded(ruling, by), True
        finally:
            self._closed.set()

    def _recorded(self, ruling: HostVerdict, by: str) -> HostVerdict:
        """Record the verdict of a rule or of the mode; return what finally happens."""
        self._report(ActionAssessed(action_id=self._action_id, risk="MEDIUM", rule=by, needs_decision=False))
        verdict: Verdict = "approved" if ruling.allowed else "rejected"
        is_rule = by.startswith(("allow ", "deny "))
        self._report(
            ActionDecided(action_id=self._action_id, verdict=verdict, by="rule" if is_rule else "mode", rule=by)
        )
        return self._finished(ruling)

    def _asked(self, proposed: ActionProposed, assessed: ActionAssessed) -> tuple[HostVerdict, bool]:
        """Ask the user; a question that was withdrawn is asked again for the next connection."""
        question = HostQuestion(assessed, self._questions.remember(proposed, assessed))
        waiting = self._questions.root()
        waiting.open(question)  # before it is shown, because the answer may come immediately
        try:
            self._request.on_abandoned(question.withdraw)
            self._call.at_end(lambda: self._end(question))
            self._report(assessed)
            question.wait()
        finally:
            waiting.closed(question)
        for event in question.events:
            self._report(event)
        verdict = self._finished(self._answer(question))
        return verdict, question.verdict is not None

    def _answer(self, question: HostQuestion) -> HostVerdict:
        if question.verdict is None:
            return HostVerdict(False, _WITHDRAWN)
        if question.verdict == "rejected":
            return HostVerdict(False, f"the user rejected it{f', and wrote: {question.note}' if question.note else ''}")
        if self._request.uploaded:
            return HostVerdict(True, upload=_TIMES_MORE * self._request.uploaded)
        return HostVerdict(True, grant=_scope_of(self._call, self._request))

    def _end(self, question: HostQuestion) -> None:
        """Withdraw the question because its call ends, and wait until its last steps are recorded before the call's
        result.
        """
        question.withdraw()
        self._closed.wait(_CLOSING)

    def _finished(self, verdict: HostVerdict) -> HostVerdict:
        """Record and return the verdict; a host that is allowed is refused after all if its address may not be
        reached.
        """
        if verdict.allowed and (refusal := self._request.refusal()):
            verdict = HostVerdict(False, refusal)
        if verdict.allowed:
            self._report(ActionStarted(action_id=self._action_id))
            self._report(answered(self._action_id, f"{self._endpoint} may be reached."))
        else:
            text = f"The connection to {self._endpoint} was refused: {verdict.reason}."
            self._report(not_run(self._action_id, text))
        return verdict

    def _report(self, event: Event) -> None:
        """Record a step of the call; rules that are added to the session are recorded as events of their own."""
        if isinstance(event, ActionEvent):
            event = DelegateStep(action_id=self._context.action_id, agent=SANDBOX, session="", event=event)
        self._context.report(event)


def host_proposed(request: HostRequest, command: str, action_id: str) -> ActionProposed:
    """Return the step in which `command`, a command line or the name of a program, wants to connect to a host."""
    return ActionProposed(
        action_id=action_id,
        response_id="",
        call_id=action_id,
        tool=NETWORK,
        arguments=_arguments(request, command),
        presentation=_PRESENTATION,
    )


def _scope_of(call: RunningCall, request: HostRequest) -> str:
    """Return what an answer applies to: the call or, outside of calls, the program."""
    return call.proposed.action_id or request.label


def _kind_of_call(label: str) -> ToolKind | None:
    """Return the kind of tool that runs a program: the shell's or the Python interpreter's; None for other programs."""
    if label in _SHELLS:
        return "command"
    return "code" if label.startswith("python") else None


def _command_of(request: HostRequest) -> str:
    """Return what connects: the command line of the process or, if that is unknown or one of ours, the program."""
    kind = _kind_of_call(request.label)
    if kind is None:
        return request.label
    command = request.command()
    program = command.partition(" ")[0].rpartition("/")[2]
    if not command or (kind == "code" and program == request.label):
        return _UNKNOWN_PROGRAM if kind == "command" else request.label
    return cut_middle(visible(command, lines=False), _LONGEST)


def _arguments(request: HostRequest, command: str) -> dict[str, Any]:
    arguments = {"host": endpoint_text(request.host, request.port), "command": command}
    return {name: value for name, value in arguments.items() if value}


def _url(request: HostRequest) -> str:
    """Return the URL that rules are compared with; it names the port unless that is the default of its scheme."""
    scheme = "http" if request.port == 80 else "https"
    host = f"[{request.host}]" if ":" in request.host else request.host
    return f"{scheme}://{host}/" if request.port in (80, 443) else f"{scheme}://{host}:{request.port}/"


def _not_listed(request: HostRequest) -> str:
    if request.uploaded:
        return f"{_megabytes(request.uploaded)} was sent to this host, and in this mode no user is asked about more"
    rule = Rule("allow", NETWORK, path=f"{_url(request)}**").text
    return f"in this mode no user is asked, and no rule allows the host; the user can add `{rule}`"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
