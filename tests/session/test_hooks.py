"""Hooks of a session: real programs that are told of its events, and what their answers do to actions."""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.session.recording import Recording, approve, bash, go_on
from workbench.hooks.files import find_hooks
from workbench.hooks.runner import HookRunner
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    Event,
    FilesChanged,
    MessageWithdrawn,
    ModelResponded,
    RunEnded,
    UserMessage,
)
from workbench.protocol.hook_run import HookRan
from workbench.secrets.masker import MASKER
from workbench.session.session_factory import OpenedSession, open_session, start_session
from workbench.session.state import OpenAction
from workbench.tools.trust import fingerprint

NAME = "20260101-hooks-1111"
Decide = Callable[[OpenedSession, OpenAction], None]


def _never(opened: OpenedSession, action: OpenAction) -> None:
    pytest.fail(f"the user was asked about {action.proposed.arguments}")


class Hooked:
    """A session with hooks; its events and the model's requests are collected."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.work = recording.work
        self.events: list[Event] = []
        self.requests: list[dict[str, Any]] = []
        self.mode = "never"

    def run(self, hooks: list[dict[str, object]], *turns: Turn, decide: Decide = _never, **settings: object) -> None:
        """Send a message and let the agent play these turns; `decide` is called for each question."""
        with ModelServer([*turns, Turn("Done.")]) as server:
            opened = self.opened(server, hooks, **settings)
            try:
                opened.session.send("go")
                go_on(opened, decide)
            finally:
                opened.close()
            self.requests += [each.body for each in server.requests]

    def opened(self, server: ModelServer, hooks: list[dict[str, object]], **settings: object) -> OpenedSession:
        """Open the session, or start it; the caller closes it."""
        base = replace(self._recording.settings, model="openai/fake", api_base=server.base_url, mode=self.mode)
        chosen = replace(base, hooks=tuple(hooks), sandbox="off", **settings)  # type: ignore[arg-type]
        chosen = replace(chosen, from_flags=("model", "api_base", "mode"))
        listeners = {"on_event": self.events.append, "on_live": lambda live: None}
        where = self._recording.where
        if (where.sessions / f"{NAME}.session").is_file():
            return open_session(where, chosen, NAME, **listeners)
        return start_session(where, chosen, self.work, NAME, **listeners)

    def of(self, kind: type) -> list[Any]:
        """Return the events of this kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def sent(self) -> str:
        """The last request to the model, as text."""
        return json.dumps(self.requests[-1]["messages"], ensure_ascii=False)


@pytest.fixture
def hooked(tmp_path: Path) -> Hooked:
    return Hooked(Recording(tmp_path))


def hook(event: str, command: str, **more: object) -> dict[str, object]:
    return {"event": event, "command": command, **more}


def prints(event: str, **answer: object) -> dict[str, object]:
    """Return a hook that answers with this JSON."""
    return hook(event, f"printf %s {shlex.quote(json.dumps(answer))}", name="h")


def risky(command: str, risk: str = "MEDIUM") -> Turn:
    return Turn(calls=[Called("execute_bash", {"command": command, "security_risk": risk})])


def test_hook_denies_an_action_before_it_runs_and_the_model_reads_why(hooked):
    guard = """grep -q 'touch made' && { echo "no touching here" >&2; exit 2; }; exit 0"""
    hooked.run([hook("before_action", guard, name="guard", matcher="execute_bash")], bash("touch made"), bash("true"))
    assert not (hooked.work / "made").exists()
    denied, allowed = hooked.of(HookRan)
    assert (denied.name, denied.event, denied.exit, denied.decision) == ("guard", "before_action", 2, "deny")
    assert (allowed.decision, allowed.exit) == ("", 0)
    assert 0 < allowed.duration < 30
    first, second = hooked.of(ActionDecided)
    assert (first.verdict, first.rule, second.verdict) == ("rejected", 'hook "guard"', "approved")
    result = hooked.of(ActionObserved)[0]
    assert not result.ran
    assert "no touching here" in str(result.observation)


def test_hook_reads_the_event_as_the_log_has_it_with_session_and_workspace(hooked):
    hooked.run([hook("before_action", "cat > told.json")], bash("true"))
    told = json.loads((hooked.work / "told.json").read_text())
    assert (told["hook_event"], told["session_id"], told["workspace"]) == ("before_action", NAME, str(hooked.work))
    proposed = next(event for event in hooked.events if event.kind == "action_proposed")
    assert told["event"]["seq"] == proposed.seq
    assert told["event"]["kind"] == "action_proposed"
    assert told["arguments"] == told["event"]["arguments"] == {"command": "true"}


def test_matcher_is_compared_with_the_whole_name_of_the_tool(hooked):
    hooks = [hook("before_action", "true", matcher=each) for each in ("execute", "execute_.*", "grep|execute_bash")]
    hooked.run(hooks, bash("true"))
    assert len(hooked.of(HookRan)) == 2


def test_hook_has_the_user_asked_about_what_the_mode_allows(hooked):
    asked = []

    def decide(opened, action):
        asked.append(action.assessed)
        approve(opened, action)

    hooked.run([prints("before_action", decision="ask", reason="look twice")], bash("touch made"), decide=decide)
    assert (hooked.work / "made").exists()
    assert asked[0].rule == 'hook "h"'
    assert 'hook "h" asks: look twice' in asked[0].reasons
    assert asked[0].always_choices == ()
    assert "look twice" in asked[0].no_always


def test_approval_of_a_hook_replaces_the_question_of_the_mode(hooked):
    hooked.mode = "medium"
    hooked.run([prints("before_action", decision="approve")], risky("touch made"))
    assert (hooked.work / "made").exists()
    (decided,) = hooked.of(ActionDecided)
    assert (decided.verdict, decided.by, decided.rule) == ("approved", "rule", 'hook "h"')


@pytest.mark.parametrize("hook_event", ["before_action", "before_asking"])
@pytest.mark.parametrize(
    ("command", "risk", "mode", "rules"),
    [
        ("rm -rf $HOME/x", "LOW", "medium", ()),
        ("touch made", "HIGH", "medium", ()),
        ("touch .git/hooks/pre-commit", "LOW", "medium", ()),
        ("touch made", "MEDIUM", "ask", ()),
        ("touch made", "LOW", "medium", ("ask $ touch *",)),
    ],
)
def test_no_hook_approves_what_is_high_protected_or_asked_about_by_a_rule(
    hooked, hook_event, command, risk, mode, rules
):
    asked = []

    def decide(opened, action):
        asked.append(action.proposed.arguments["command"])
        opened.session.decide(action.proposed.action_id, "rejected", fingerprint="")

    hooked.mode = mode
    hooked.run([prints(hook_event, decision="approve")], risky(command, risk), decide=decide, rules=rules)
    assert asked == [command]
    assert [run.decision for run in hooked.of(HookRan)] == ["approve"]


@pytest.mark.parametrize("hook_event", ["before_action", "before_asking"])
def test_no_hook_approves_what_a_rule_denies(hooked, hook_event):
    hooked.run([prints(hook_event, decision="approve")], risky("touch made"), rules=("deny $ touch *",))
    assert not (hooked.work / "made").exists()
    assert hooked.of(ActionDecided)[0].rule == "deny $ touch *"


def test_changed_arguments_are_what_is_assessed_shown_and_run(hooked):
    hooked.mode = "medium"
    shown = []

    def decide(opened, action):
        shown.append(action.assessed)
        approve(opened, action)

    change = prints("before_action", arguments={"command": "touch other"})
    hooked.run([change], risky("touch made"), decide=decide)
    assert (hooked.work / "other").exists()
    assert not (hooked.work / "made").exists()
    assert shown[0].edited == {"command": "touch other"}
    assert 'hook "h" changed what the agent proposed' in shown[0].reasons
    (decided,) = hooked.of(ActionDecided)
    assert (decided.verdict, decided.by_hook, decided.edited) == ("edited", True, {"command": "touch other"})
    assert "[A hook changed the arguments before it ran: " in hooked.sent


def test_hook_that_makes_a_command_dangerous_has_it_asked_about(hooked):
    hooked.mode = "high"
    asked = []

    def decide(opened, action):
        asked.append(action.assessed.risk)
        opened.session.decide(action.proposed.action_id, "rejected", fingerprint="")

    change = prints("before_action", decision="approve", arguments={"command": "rm -rf $HOME"})
    hooked.run([change], bash("true"), decide=decide)
    assert asked == ["HIGH"]


def test_what_was_asked_about_stays_so_when_a_hook_makes_it_harmless(hooked):
    hooked.mode = "medium"
    asked = []

    def decide(opened, action):
        asked.append(action.assessed.edited)
        approve(opened, action)

    hooked.run([prints("before_action", arguments={"command": "true"})], risky("touch made"), decide=decide)
    assert asked == [{"command": "true"}]


def test_arguments_that_do_not_fit_are_an_error_for_the_model(hooked):
    hooked.run([prints("before_action", arguments={"command": 7, "x": []})], bash("touch made"))
    assert not (hooked.work / "made").exists()
    assert "execute_bash was not run" in hooked.sent


def test_later_hooks_see_the_changed_arguments_and_the_first_denial_is_the_last_word(hooked):
    second = hook("before_action", "cat > told.json; exit 2", name="second")
    third = hook("before_action", "touch third")
    hooked.run([prints("before_action", arguments={"command": "touch other"}), second, third], bash("touch made"))
    assert json.loads((hooked.work / "told.json").read_text())["arguments"] == {"command": "touch other"}
    assert sorted(path.name for path in hooked.work.iterdir() if not path.name.startswith(".")) == ["told.json"]


@pytest.mark.parametrize(
    ("command", "timeout", "failure"),
    [
        ("sleep 600", 1, "it was ended after its timeout of 1 s"),
        ("trap '' TERM HUP; setsid sleep 601 & sleep 600", 1, "it was ended after its timeout of 1 s"),
        ("head -c 100000000 /dev/zero", 30, "it printed more than 1024 kB and was ended"),
        ("yes >&2", 30, "it printed more than 1024 kB and was ended"),
        ("kill -9 $$", 30, "it was ended by signal 9"),
        ("kill -9 $PPID; sleep 600", 30, "the process that runs hooks ended"),
        ('echo \'{"decision": "approve"\'', 30, "it printed invalid JSON"),
        ('echo \'{"decision": "sure"}\'', 30, "its decision must be one of approve, ask, deny, not 'sure'"),
        ('echo \'{"decision": ["approve"]}\'', 30, "its decision must be text"),
        ("echo '{\"allow\": true}'", 30, "it printed an unknown entry 'allow'"),
        ("exit 1", 30, "it failed with exit code 1"),
        ("no_such_program_at_all", 30, "it failed with exit code 127"),
        ("printf '\\377\\376{'; exit 3", 30, "it failed with exit code 3"),
    ],
)
def test_hook_that_fails_has_the_user_asked_and_the_session_goes_on(hooked, command, timeout, failure):
    hooked.mode = "medium"
    asked = []

    def decide(opened, action):
        asked.append(action)
        approve(opened, action)

    began = time.monotonic()
    broken = hook("before_action", command, timeout=timeout)
    hooked.run([prints("before_action", decision="approve"), broken], risky("touch made"), bash("true"), decide=decide)
    assert time.monotonic() - began < 60
    assert [action.proposed.arguments["command"] for action in asked] == ["touch made", "true"]
    assert failure in " ".join(asked[1].assessed.reasons)
    runs = [run for run in hooked.of(HookRan) if run.name == command]
    assert len(runs) == 2
    assert all(failure in run.failure for run in runs)
    assert hooked.of(RunEnded)[-1].reason == "waiting"


def test_interrupt_ends_a_hook_that_hangs_and_the_action_does_not_run(hooked):
    with ModelServer([bash("touch made"), Turn("Done.")]) as server:
        opened = hooked.opened(server, [hook("before_action", "touch started; sleep 600")])
        try:
            opened.session.send("go")
            thread = threading.Thread(target=go_on, args=(opened,))
            thread.start()
            while not (hooked.work / "started").exists():
                time.sleep(0.01)
            began = time.monotonic()
            opened.session.interrupt()
            thread.join(20)
            assert time.monotonic() - began < 5
            assert opened.session.ended == "interrupted"
        finally:
            opened.close()
    assert not (hooked.work / "made").exists()


def test_context_reaches_the_model_with_secrets_masked(hooked):
    MASKER.add("PLANTED_TOKEN", "s3cr3t-planted-value-42")
    context = prints("session_start", context="Use make check; the key is s3cr3t-planted-value-42.")
    hooked.run([context], bash("true"))
    assert "[From the hook h: Use make check; the key is " in hooked.sent
    assert "s3cr3t-planted-value-42" not in json.dumps(hooked.requests)
    assert "s3cr3t-planted-value-42" not in hooked.of(HookRan)[0].context


def test_message_that_a_hook_denies_never_reaches_the_model(hooked):
    guard = hook("user_message", "echo 'no secrets in messages' >&2; exit 2", name="guard")
    hooked.run([guard], bash("true"))
    assert hooked.requests == []
    assert len(hooked.of(MessageWithdrawn)) == 1
    (ended,) = hooked.of(RunEnded)
    assert "no secrets in messages" in ended.detail


def test_hook_after_an_action_reads_its_result_and_its_objection_reaches_the_model(hooked):
    after = hook("after_action", "cat > told.json; echo 'the tests fail now' >&2; exit 2", name="tests")
    hooked.run([after], bash("echo hello"))
    told = json.loads((hooked.work / "told.json").read_text())
    assert told["tool"] == "execute_bash"
    assert "hello" in json.dumps(told["event"]["observation"])
    assert "[The hook tests objects: the tests fail now]" in hooked.sent
    assert hooked.of(ActionObserved)[0].ran


def test_every_event_of_a_session_has_its_hook(hooked):
    hooked.mode = "medium"
    names = ("session_start", "user_message", "model_call", "before_action", "before_asking", "notification")
    names += ("after_decision", "after_action", "run_end", "session_end")
    hooked.run([hook(name, "true") for name in names], risky("touch made"), decide=approve)
    ran = list(dict.fromkeys(run.event for run in hooked.of(HookRan)))
    assert set(ran) == set(names)
    order = [name for name in ran if name not in ("notification", "after_decision", "run_end")]
    assert order == [
        *("session_start", "user_message", "model_call", "before_action", "before_asking"),
        *("after_action", "session_end"),
    ]


def test_events_that_hooks_are_told_of_are_those_of_the_log(hooked):
    hooked.run(
        [hook(name, "true") for name in ("user_message", "model_call", "after_decision", "run_end")], bash("true")
    )
    by_seq = {event.seq: event for event in hooked.events}
    kinds = {"user_message": UserMessage, "model_call": ModelResponded, "after_decision": ActionDecided}
    for run in hooked.of(HookRan):
        assert isinstance(by_seq[run.about], {**kinds, "run_end": RunEnded}[run.event])


def test_open_question_stays_the_users_after_a_restart(hooked):
    hooked.mode = "medium"
    hooks = [prints("before_action", decision="approve"), hook("session_start", "cat > start.json")]
    with ModelServer([risky("rm -rf $HOME/x"), Turn("Done.")]) as server:
        opened = hooked.opened(server, hooks)
        opened.session.send("go")
        while opened.session.step():
            pass
        opened.close()
        assert json.loads((hooked.work / "start.json").read_text())["trigger"] == "startup"
        opened = hooked.opened(server, hooks)
        try:
            asked = []
            go_on(opened, lambda opened, action: (asked.append(action), approve(opened, action)))
        finally:
            opened.close()
    assert len(asked) == 1
    assert [run.event for run in hooked.of(HookRan)] == ["session_start", "before_action", "session_start"]
    assert json.loads((hooked.work / "start.json").read_text())["trigger"] == "resume"


def test_approval_that_is_only_in_the_log_has_no_effect(hooked):
    hooked.mode = "medium"
    asked = []

    def decide(opened, action):
        asked.append(action.proposed.arguments["command"])
        approve(opened, action)

    both = [{"command": each, "security_risk": "MEDIUM"} for each in ("touch one", "touch two")]
    turn = Turn(calls=[Called("execute_bash", arguments) for arguments in both])
    with ModelServer([turn, Turn("Done.")]) as server:
        opened = hooked.opened(server, [])
        opened.session.send("go")
        while opened.session.step():
            pass
        second = list(opened.session._log.state.batch)[1]
        forged = HookRan(name="h", source="x", event="before_action", action_id=second, decision="approve")
        opened.session._log.commit(forged)
        opened.close()
        opened = hooked.opened(server, [hook("before_action", "true")])
        try:
            go_on(opened, decide)
        finally:
            opened.close()
    assert asked == ["touch one", "touch two"]


def test_hook_does_not_run_a_script_of_the_workspace_that_has_changed_since(hooked):
    script = hooked.work / "check.sh"
    script.write_text("exit 0\n")
    change = bash("echo 'touch pwned' > check.sh")
    hooked.run([hook("after_action", "sh check.sh", name="check")], bash("true"), change, bash("true"))
    first, second, third = (run.failure for run in hooked.of(HookRan))
    assert first == ""
    assert "check.sh has changed since the session was opened" in second
    assert second == third
    assert not (hooked.work / "pwned").exists()


def test_hook_gets_no_keys_and_what_it_starts_ends_with_it(hooked, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefghijklmnop")
    command = "env > variables; (setsid sleep 603 >/dev/null 2>&1 & echo $! > pid); exit 0"
    hooked.run([hook("after_action", command)], bash("true"))
    assert "sk-abcdefghijklmnop" not in (hooked.work / "variables").read_text()
    assert f"OHW_WORKSPACE={hooked.work}" in (hooked.work / "variables").read_text()
    assert not Path("/proc", (hooked.work / "pid").read_text().strip()).exists()


def test_without_hooks_nothing_is_started_or_recorded(hooked, monkeypatch):
    monkeypatch.setattr(HookRunner, "__init__", lambda *_: pytest.fail("a runner was made"))
    hooked.run([], bash("true"))
    assert hooked.of(HookRan) == []
    assert len(hooked.of(ActionAssessed)) == 1


def test_file_that_a_hook_formats_is_seen_by_the_agent_as_it_is_now(hooked):
    create = {"command": "create", "path": str(hooked.work / "a.py"), "file_text": "x=1\n", "security_risk": "LOW"}
    view = {"command": "view", "path": str(hooked.work / "a.py"), "security_risk": "LOW"}
    edit, look = (Turn(calls=[Called("str_replace_editor", arguments)]) for arguments in (create, view))
    formatter = hook("after_action", "sed -i 's/=/ = /' a.py", matcher="str_replace_editor")
    hooked.run([formatter], edit, look)
    assert "x = 1" in hooked.sent
    assert not [event for event in hooked.of(FilesChanged) if event.by == "person"]


def test_closing_waits_a_moment_for_the_last_hooks_and_ends_them_then(hooked):
    hooks = [hook("session_end", "touch ended; sleep 600"), hook("session_end", "sleep 600")]
    with ModelServer([Turn("Done.")]) as server:
        opened = hooked.opened(server, hooks)
        opened.session.send("go")
        go_on(opened)
        began = time.monotonic()
        opened.close()
        assert time.monotonic() - began < 8
    assert (hooked.work / "ended").exists()
    assert [run.failure for run in hooked.of(HookRan)] == ["it was ended after its timeout of 1.5 s"]


def test_interrupt_without_a_run_ends_a_hook_too(hooked):
    with ModelServer([Turn("Done.")]) as server:
        opened = hooked.opened(server, [hook("session_start", "touch started; sleep 600")])
        try:
            thread = threading.Thread(target=opened.session.step)
            thread.start()
            while not (hooked.work / "started").exists():
                time.sleep(0.01)
            opened.session.interrupt()
            thread.join(10)
            assert not thread.is_alive()
            assert hooked.of(HookRan)[0].failure == "it was interrupted"
            opened.session.send("go")
            go_on(opened)
            assert opened.session.ended == "waiting"
        finally:
            opened.close()


def test_hook_is_told_why_the_history_is_compacted(hooked):
    turns = [*(bash(f"echo {number}") for number in range(6)), Turn("Summary of all."), Turn("Done.")]
    hooked.run([hook("before_compaction", "cat > told.json")], *turns, condense_events=8)
    told = json.loads((hooked.work / "told.json").read_text())
    assert (told["hook_event"], told["trigger"]) == ("before_compaction", "auto")


def test_hooks_of_the_user_may_leave_the_sandbox_and_those_of_a_directory_may_not(hooked):
    directory = hooked.work / ".ohw"
    directory.mkdir()
    entry = '[[hooks]]\nevent = "run_end"\ncommand = "true"\nsandbox = false\n'
    (directory / "hooks.toml").write_text(entry)
    trusted = (fingerprint(hooked.work),)
    listed = find_hooks([hook("run_end", "true", sandbox=False)], Path("/s.toml"), hooked.work, trusted)
    assert [each.hook.in_sandbox for each in listed] == [False, True]
