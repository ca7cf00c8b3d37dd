"""Hosts that commands in the sandbox connect to, decided by rule, by mode or by the user: sessions with a real shell
and a real proxy.
"""

from __future__ import annotations

import socket
import threading
from types import SimpleNamespace

import pytest

from tests.sandbox import wait_for
from tests.session.fake_agent import Harness, calls, says
from tests.walls.proxy_client import HOST, Server, policy
from workbench.protocol.events import SettingsChanged
from workbench.rules.rule_files import read_rules
from workbench.rules.rule_set import RuleSet
from workbench.sandbox.host_access import HostRequest
from workbench.sandbox.proxy import NetworkProxy
from workbench.session.actions.decide import AlwaysRule, CommandError
from workbench.session.actions.host_questions import HostQuestions
from workbench.session.actions.run import CURRENT_CALL, CallContext, RunningCalls
from workbench.session.state import State
from workbench.tools import BashTool
from workbench.view.reducer import apply
from workbench.view.state import SessionState

SHELL = "execute_bash"


class Walled:
    """A session whose shell has a proxy, which asks through the session."""

    def __init__(self, directory, server, *, has_user=True, mode="high", rules="", **policy_names):
        self.directory, self.server = directory, server
        self.rules_file = directory / "rules.toml"
        self.rules_file.write_text(rules)
        self.has_user, self.mode = has_user, mode
        self.checks = policy(**policy_names)
        self.steps = []
        self.harness = None

    def open(self, *script):
        self.calls, state = RunningCalls(), State()
        self.rules = RuleSet(self.rules_file, self.directory)
        self.harness = Harness(
            self.directory,
            *script,
            mode=self.mode,
            calls=self.calls,
            rules=self.rules,
            state=state,
            tools=[BashTool(working_dir=str(self.directory))],
        )
        self.questions = HostQuestions(self.calls, self.rules, state, has_user=self.has_user)
        self.proxy = NetworkProxy(self.questions.decide, self.checks)
        listener = socket.create_server(("127.0.0.1", 0))
        self.inside = listener.getsockname()[1]
        self.proxy.serve(listener, "bash")

    def close(self):
        self.proxy.close()
        self.harness.tools[SHELL].executor.close()
        self.harness.close()

    def command(self, *hosts, before=""):
        """Return the response of a model that connects to hosts, one after the other."""
        asks = "; ".join(f"curl -sS -m 20 -x http://127.0.0.1:{self.inside} http://{host}/" for host in hosts)
        return calls((SHELL, {"command": f"{before}{asks}"}))

    def run(self, *responses):
        """Let the agent give responses, with its commands approved; return when it is done or a host is asked about."""
        self.harness.agent.script.extend([*responses, says("done")])
        self.harness.session.send("go")
        thread = threading.Thread(target=self._step, daemon=True)
        thread.start()
        self.steps.append(thread)

    def _step(self):
        self.harness.run()
        while self.harness.session.question is not None:
            self.harness.answer()

    def join(self):
        for thread in self.steps:
            thread.join(60)
            assert not thread.is_alive()

    def asked(self, before=""):
        """Wait for the open question about a host, as a screen shows it."""

        def question():
            state = self.shown()
            items = [state.actions[name] for name in state.waiting]
            return next((item for item in items if item.tool == "network" and item.action_id != before), None)

        return wait_for(question, "a question about a host")

    def shown(self):
        state = SessionState(workspace=str(self.directory))
        for event in list(self.harness.events):
            apply(state, event)
        return state

    def decide(self, item, verdict="approved", **more):
        more.setdefault("fingerprint", item.fingerprint)
        assert self.questions.command(item.action_id, lambda question, name: question.decide(name, verdict, **more))

    def decisions(self):
        """Return the host, verdict and cause of each recorded decision."""
        steps = [event.event for event in self.harness.log() if event.kind == "delegate_step"]
        hosts = {step.action_id: step.arguments["host"] for step in steps if step.kind == "action_proposed"}
        decided = [step for step in steps if step.kind == "action_decided"]
        return [(hosts[step.action_id], step.verdict, step.by) for step in decided]

    def output(self):
        return "\n".join(self.harness.results())


def page(connection):
    connection.recv(10_000)
    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello from the registry\n")


@pytest.fixture
def server():
    server = Server(page)
    yield server
    server.close()


@pytest.fixture
def walled(tmp_path, server):
    opened = []

    def make(**more):
        walled = Walled(tmp_path, server, **more)
        opened.append(walled)
        walled.open()
        return walled

    yield make
    for walled in opened:
        walled.close()


def test_user_allows_a_host_for_one_command(walled, server):
    host = f"{HOST}:{server.port}"
    session = walled()
    session.run(session.command(host, host), session.command(host))
    item = session.asked()
    assert (item.agent, item.tool, item.risk) == ("sandbox", "network", "MEDIUM")
    assert item.arguments["host"] == host
    assert item.arguments["command"].startswith("curl -sS")
    assert "TLS is not opened" in item.reasons[1]
    assert server.connections == 0
    session.decide(item)
    again = session.asked(before=item.action_id)
    assert server.connections == 2
    session.decide(again, "rejected", note="once is enough")
    session.join()
    assert "hello from the registry" in session.output()
    assert f"The sandbox refused the connection to {host}: the user rejected it, and wrote: once is enough" in (
        session.output()
    )
    assert session.decisions() == [(host, "approved", "person"), (host, "rejected", "person")]
    assert [each.reason for each in session.proxy.refusals] == ["the user rejected it, and wrote: once is enough"]
    assert session.shown().waiting == []


def test_session_grant_is_an_event_and_holds_after_reopening(walled, server):
    host = f"{HOST}:{server.port}"
    session = walled()
    session.run(session.command(host))
    item = session.asked()
    [choice] = item.always
    assert choice.rules == (f"allow network in https://{host}/**",)
    session.decide(item, always=AlwaysRule(choice.text, "session"))
    session.join()
    assert [event.rule for event in session.harness.log() if isinstance(event, SettingsChanged)] == list(choice.rules)
    session.close()
    session.open()
    session.run(session.command(host))
    session.join()
    assert session.decisions() == [(host, "approved", "person"), (host, "approved", "rule")]
    assert server.connections == 2


def test_always_saves_a_rule_for_every_session(walled, server):
    host = f"{HOST}:{server.port}"
    session = walled()
    session.run(session.command(host))
    item = session.asked()
    with pytest.raises(CommandError, match="not the rule that was shown"):
        session.decide(item, always=AlwaysRule("allow network", "person"))
    session.decide(item, always=AlwaysRule(item.always[0].text, "person"))
    session.join()
    [rule] = read_rules(session.rules_file, "person").rules
    assert rule.text == f"allow network in https://{host}/**"


RULE = '[[{}]]\ntool = "{}"\npath = "{}"\n'


@pytest.mark.parametrize("mode", ["medium", "high", "never"])
def test_rule_allows_without_a_question(walled, server, mode):
    host = f"{HOST}:{server.port}"
    session = walled(mode=mode, rules=RULE.format("allow", "network", f"https://{host}/**"))
    session.run(session.command(host))
    session.join()
    assert "hello from the registry" in session.output()
    assert session.decisions() == [(host, "approved", "rule")]


@pytest.mark.parametrize("tool", ["network", "web_read", ""])
def test_rule_denies_in_every_mode(walled, server, tool):
    host = f"{HOST}:{server.port}"
    session = walled(mode="never", rules=RULE.format("deny", tool, f"https://{host}/**"))
    session.run(session.command(host, before="true; "))
    session.join()
    assert "a rule of the user denies it" in session.output()
    assert session.decisions() == [(host, "rejected", "rule")]
    assert server.connections == 0


def test_rule_for_reading_pages_does_not_open_the_sandbox(walled, server):
    host = f"{HOST}:{server.port}"
    session = walled(mode="never", rules=RULE.format("allow", "web_read", f"https://{host}/**"))
    session.run(session.command(host))
    session.join()
    assert session.decisions() == [(host, "rejected", "mode")]
    assert server.connections == 0


def test_mode_that_never_asks_refuses_at_once_and_names_the_rule(walled, server):
    host = f"{HOST}:{server.port}"
    session = walled(mode="never")
    session.run(session.command(host))
    session.join()
    assert f"the user can add `allow network in https://{host}/**`" in session.output()
    assert session.decisions() == [(host, "rejected", "mode")]


def test_without_a_user_an_unlisted_host_is_refused(walled, server):
    session = walled(has_user=False)
    session.run(session.command(f"{HOST}:{server.port}"))
    session.join()
    assert "no user is there to be asked about it" in session.output()
    assert server.connections == 0


def test_mode_that_asks_every_time_ignores_rules_that_allow(walled, server):
    host = f"{HOST}:{server.port}"
    session = walled(mode="ask", rules=RULE.format("allow", "network", f"https://{host}/**"))
    session.run(session.command(host))
    item = session.asked()
    assert (item.always, "ignores rules that allow" in item.no_always) == ((), True)
    session.decide(item)
    session.join()
    assert server.connections == 1


def test_interrupt_withdraws_the_question(walled, server):
    session = walled()
    session.run(session.command(f"{HOST}:{server.port}"))
    item = session.asked()
    session.harness.session.interrupt()
    session.join()
    wait_for(lambda: session.shown().waiting == [], "the question to be withdrawn")
    assert not session.questions.command(item.action_id, lambda question, name: question.decide(name, "approved"))
    assert session.decisions() == []
    wait_for(lambda: not session.proxy.is_waiting("bash"), "the connection to end")


def test_proxy_says_that_a_command_waits_for_the_user(walled, server):
    session = walled()
    assert not session.proxy.is_waiting("bash")
    session.run(session.command(f"{HOST}:{server.port}"))
    item = session.asked()
    assert session.proxy.is_waiting("bash")
    session.decide(item)
    session.join()
    assert not session.proxy.is_waiting("bash")


def test_question_names_the_process_that_connects(walled, server):
    host = f"{HOST}:{server.port}"
    session = walled()
    waits = f"(sleep 1; curl -sS -m 20 -x http://127.0.0.1:{session.inside} http://{host}/) &"
    session.run(calls((SHELL, {"command": waits})), calls((SHELL, {"command": "sleep 5 # another command"})))
    item = session.asked()
    assert item.arguments["command"].startswith("curl -sS -m 20")
    session.decide(item, "rejected")
    session.join()


def test_allowed_host_with_a_private_address_is_recorded_as_refused(walled, server):
    session = walled(**{"inner.example": ["10.1.2.3"]})
    session.run(session.command("inner.example"))
    session.decide(session.asked())
    session.join()
    steps = [event.event for event in session.harness.log() if event.kind == "delegate_step"]
    assert "may be reached" not in str(steps)
    assert "The connection to inner.example:80 was refused: " in str(steps[-1])
    assert "The sandbox refused the connection to inner.example:80" in session.output()


def test_connection_outside_of_a_call_is_decided_by_rules_alone(walled, server):
    session = walled(rules=RULE.format("allow", "network", f"https://{HOST}/**"))
    request = HostRequest(HOST, 443, "bash")
    assert session.questions.decide(request).allowed
    verdict = session.questions.decide(HostRequest("other.example", 443, "bash"))
    assert (verdict.allowed, verdict.reason.startswith("no tool call runs")) == (False, True)


@pytest.mark.parametrize(
    ("verdict", "more", "words"),
    [
        ("edited", {}, "as it is"),
        ("approved", {"fingerprint": "another"}, "has changed"),
    ],
)
def test_decision_that_does_not_fit_is_not_accepted(walled, server, verdict, more, words):
    session = walled()
    session.run(session.command(f"{HOST}:{server.port}"))
    item = session.asked()
    with pytest.raises(CommandError, match=words):
        session.decide(item, verdict, **more)
    with pytest.raises(CommandError, match="not an answer"):
        session.questions.command(item.action_id, lambda question, name: question.answer(name, "yes"))
    session.decide(item, "rejected")
    session.join()
    assert server.connections == 0


def test_sending_more_is_asked_about_with_the_amount(walled, server):
    session = walled(rules=RULE.format("allow", "network", f"https://{HOST}/**"))
    reported = []
    context = CallContext("c1", reported.append, lambda event: None)
    proposed = SimpleNamespace(action_id="c1", tool=SHELL, arguments={"command": "git push"})
    request = HostRequest(HOST, 443, "bash", 1_000_000)
    verdicts = []
    with session.calls.running(proposed, context):
        thread = threading.Thread(target=lambda: verdicts.append(session.questions.decide(request)), daemon=True)
        thread.start()
        assessed = wait_for(
            lambda: next((e.event for e in reported if e.event.kind == "action_assessed"), None), "question"
        )
        session.questions.command(
            assessed.action_id,
            lambda question, name: question.decide(name, "approved", fingerprint=assessed.fingerprint),
        )
        thread.join(5)
    assert assessed.reasons[0] == "1.0 MB was sent to this host; approving it permits 10.0 MB more"
    assert (assessed.always_choices, verdicts[0].allowed, verdicts[0].upload) == ((), True, 10_000_000)


def test_sub_agents_questions_are_asked_in_its_parents_session(walled, server):
    session = walled()
    reported, own = [], []
    parent_call = CallContext("c1", reported.append, lambda event: None)
    token = CURRENT_CALL.set(parent_call)
    try:
        calls_of_child, state = RunningCalls(), State(workspace=str(session.directory), mode="high")
        child = HostQuestions(calls_of_child, session.rules, state, has_user=False, parent=session.questions)
    finally:
        CURRENT_CALL.reset(token)
    request = HostRequest(HOST, 443, "bash")
    proposed = SimpleNamespace(action_id="c9", tool=SHELL, arguments={"command": "npm ci"})
    verdicts = []
    with calls_of_child.running(proposed, CallContext("c9", own.append, lambda event: None)):
        thread = threading.Thread(target=lambda: verdicts.append(child.decide(request)), daemon=True)
        thread.start()
        assessed = wait_for(
            lambda: next((e.event for e in reported if e.event.kind == "action_assessed"), None), "question"
        )
        always = AlwaysRule(assessed.always, "session")
        session.questions.command(
            assessed.action_id,
            lambda question, name: question.decide(name, "approved", fingerprint=assessed.fingerprint, always=always),
        )
        thread.join(5)
    assert verdicts[0].allowed
    assert own == []
    assert {event.action_id for event in reported if event.kind == "delegate_step"} == {"c1"}
    assert [event.rule for event in reported if event.kind == "settings_changed"] == [assessed.always]
    session.harness.session.set(rule=assessed.always)
    assert child.decide(request).allowed  # what its parent allows


SERVER_REQUEST = HostRequest("registry.npmjs.org", 443, "MCP server tracker")


@pytest.fixture
def between_calls():
    """The questions of a session in which no call runs, its state, and the events that it reports."""
    state, events = State(mode="never"), []
    questions = HostQuestions(RunningCalls(), RuleSet(), state, has_user=True)
    questions.begin(CallContext("", events.append, lambda event: None))
    return questions, state, events


def test_later_rules_and_modes_decide_about_a_server_too(between_calls):
    questions, state, events = between_calls
    assert not questions.decide(SERVER_REQUEST).allowed
    reported = len(events)
    assert not questions.decide(SERVER_REQUEST).allowed
    assert len(events) == reported  # the same answer is recorded once
    state.rules, state.mode = ("allow network in https://registry.npmjs.org/**",), "medium"
    assert questions.decide(SERVER_REQUEST).allowed
    state.rules = ("deny network in https://registry.npmjs.org/**",)
    assert not questions.decide(SERVER_REQUEST).allowed


def test_server_that_tries_endless_hosts_is_refused_without_further_events(between_calls):
    questions, _, events = between_calls
    for number in range(200):
        questions.decide(HostRequest(f"host{number}.example", 443, SERVER_REQUEST.label))
    reported = len(events)
    verdict = questions.decide(HostRequest("another.example", 443, SERVER_REQUEST.label))
    assert (verdict.allowed, verdict.reason, len(events)) == (False, "more than 200 hosts were tried", reported)
