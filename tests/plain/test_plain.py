"""`ohw --plain` in a pseudo terminal: the same approvals line by line, and no byte that moves a cursor."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.device_server import DeviceServer
from tests.fakes.model_server import ModelServer
from tests.mcp.conftest import fake_server
from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.terminal.allowed_output import strange
from tests.terminal.terminal import Terminal
from workbench.ascii import in_ascii, wants_ascii
from workbench.protocol.events import ActionDecided, ActionObserved, Event, SettingsChanged, UserMessage
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store

SHAPE = (100, 150)
ASKS = "Yes or no?"


def plain(sandbox: Sandbox, *turns: dict, prompt: str = "go", **env: str) -> Terminal:
    args = (prompt, "--plain", "--model", sandbox.script(*turns), "--mode", "high", "--workspace", str(sandbox.project))
    return Terminal(args, *SHAPE, sandbox.env | env)


def asked(terminal: Terminal, prompt: str = ASKS) -> None:
    """Wait until this prompt is the last text written."""
    terminal.wait_until(lambda _: terminal.raw.endswith(f"{prompt} ".encode()), f"{prompt!r} to wait", 60)


def answer(terminal: Terminal, text: str, prompt: str = ASKS) -> None:
    """Wait for the prompt, then type as a user does; type again if a slow machine answers "Too fast"."""
    for _ in range(20):
        asked(terminal, prompt)
        time.sleep(0.8)  # earlier input is not an answer
        before = len(terminal.raw)
        terminal.type(f"{text}\n")
        terminal.wait_until(lambda _, at=before: terminal.raw[at:].partition(b"\n")[2], "the line to be taken", 60)
        if b"Too fast" not in terminal.raw[before:]:
            return
    raise AssertionError(f"no line was taken at {prompt!r}")


def leave(terminal: Terminal) -> None:
    asked(terminal, "\n>")
    terminal.press("ctrl+d")
    assert terminal.wait_exit() == 0


def log(sandbox: Sandbox) -> list[Event]:
    (session,) = list_sessions(sandbox.locations)
    with Store.open(session_path(sandbox.locations, session.id), readonly=True) as store:
        return list(store.events())


def decided(sandbox: Sandbox) -> list[ActionDecided]:
    return [event for event in log(sandbox) if isinstance(event, ActionDecided) and event.by == "person"]


def models_chosen(sandbox: Sandbox) -> list[str]:
    return [event.model for event in log(sandbox) if isinstance(event, SettingsChanged) and event.model]


def test_model_command_signs_in_to_github_copilot(sandbox: Sandbox):
    tokens = sandbox.home / "copilot"
    with (
        DeviceServer(*["authorization_pending"] * 10_000) as github,
        plain(sandbox, finish("Hello."), GITHUB_COPILOT_TOKEN_DIR=str(tokens), **github.env) as terminal,
    ):
        asked(terminal, "\n>")
        terminal.type("/model github_copilot/gpt-5\n")
        terminal.wait_for("Open https://github.com/login/device and enter the code ABCD-1234.")
        wait_for(lambda: len(github.polls) > 2, "the token to be requested")
        assert not tokens.exists()
        github.script.clear()
        terminal.wait_for("Signed in.")
        wait_for(lambda: "github_copilot/gpt-5" in models_chosen(sandbox), "the model to change")
        leave(terminal)
    assert (tokens / "access-token").read_text() == "gho_secret"
    assert github.codes == 1


def test_refused_sign_in_keeps_the_model(sandbox: Sandbox):
    tokens = sandbox.home / "copilot"
    with (
        DeviceServer("access_denied") as github,
        plain(sandbox, finish("Hello."), GITHUB_COPILOT_TOKEN_DIR=str(tokens), **github.env) as terminal,
    ):
        asked(terminal, "\n>")
        terminal.type("/model github_copilot/gpt-5\n")
        terminal.wait_for("Not signed in: You refused the sign-in on GitHub.")
        leave(terminal)
    assert models_chosen(sandbox) == []
    assert not tokens.exists()


def test_rejected_key_is_followed_by_what_to_do(sandbox: Sandbox):
    with ModelServer(key="sk-of-the-server") as server:
        model = ("--model", "openai/small", "--api-base", server.base_url)
        args = ("go", "--plain", *model, "--workspace", str(sandbox.project))
        with Terminal(args, *SHAPE, sandbox.env) as terminal:
            terminal.wait_for("rejected the API key (HTTP 401)")
            terminal.wait_for("To continue: /model NAME uses another model")
            terminal.wait_for("opens a form that takes another key for openai/small")
            leave(terminal)
        (session,) = list_sessions(sandbox.locations)
        assert f"ohw resume {session.id} --plain" in terminal.raw.decode().replace("\r\n", "")


def test_demo_runs_in_ascii_without_the_users_servers(sandbox: Sandbox):
    sandbox.locations.config.mkdir(parents=True)
    ran = sandbox.home / "ran"
    sandbox.locations.settings_file.write_text(f'[mcpServers.mine]\ncommand = "touch"\nargs = ["{ran}"]\n')
    with Terminal(["demo", "--plain"], *SHAPE, sandbox.env | {"LANG": "C"}) as terminal:
        answer(terminal, "no")
        answer(terminal, "the test is right", "(optional):")
        answer(terminal, "yes")
        answer(terminal, "")
        terminal.wait_for("An empty line answers nothing.")
        answer(terminal, "y")
        leave(terminal)
        screen = terminal.text()
    assert [event.verdict for event in decided(sandbox)] == ["rejected", "approved", "approved"]
    assert decided(sandbox)[0].note == "the test is right"
    assert '  add:     return -cents if found["sign"] == "-" else cents' in screen.replace("cents = whole", "")
    assert "may step 12 run? Risk HIGH." in screen
    assert "Start the demo again with: ohw demo" in screen.replace("\n", "")
    assert set(terminal.raw) <= {*range(32, 127), *b"\r\n\t"}
    assert not ran.exists()
    sandbox.locations.settings_file.unlink()
    with Terminal(["resume", "--last", "--plain"], *SHAPE, sandbox.env) as terminal:
        leave(terminal)
        assert "Finished." in terminal.text()


def test_lines_typed_while_a_question_appears_are_no_answer(sandbox: Sandbox):
    with plain(sandbox, bash("sleep 1; touch begun"), bash("touch made-it", risk="HIGH"), finish()) as terminal:
        until = time.monotonic() + 90
        while ASKS not in terminal.text() and time.monotonic() < until:
            terminal.type("y\n")
            time.sleep(0.005)
        for _ in range(100):
            terminal.type("yes\n")
            time.sleep(0.005)
        terminal.wait_for("Too fast")
        assert decided(sandbox) == []
        assert not (sandbox.project / "made-it").exists()
        answer(terminal, "sure")
        terminal.wait_for("That is not an answer.")
        answer(terminal, "yes")
        wait_for((sandbox.project / "made-it").exists, "the command to run")


def test_unfinished_line_is_discarded_when_a_question_appears(sandbox: Sandbox):
    go = sandbox.project / "go"
    waits = f"touch begun; while [ ! -e {go} ]; do sleep 0.05; done"
    with plain(sandbox, bash(waits), bash("touch made-it", risk="HIGH"), finish()) as terminal:
        wait_for((sandbox.project / "begun").exists, "the first command to run")
        terminal.type("say ye")
        terminal.wait_for("say ye")
        go.touch()
        terminal.wait_for("not used as an answer: say ye")
        answer(terminal, "s")
        terminal.wait_for("That is not an answer.")
        assert not (sandbox.project / "made-it").exists()


def test_changes_are_accepted_one_by_one(sandbox: Sandbox):
    text = "".join(f"line {number}\n" for number in range(30))
    (sandbox.project / "a.txt").write_text(text)
    new = text.replace("line 3\n", "line three\n").replace("line 20\n", "line twenty\n")
    edit = {"tool": "str_replace_editor", "risk": "HIGH"}
    path = str(sandbox.project / "a.txt")
    view = edit | {"risk": "LOW", "arguments": {"command": "view", "path": path}}
    write = edit | {"arguments": {"command": "str_replace", "path": path, "old_str": text[:-1], "new_str": new[:-1]}}
    with plain(sandbox, view, write, finish("As you wish.")) as terminal:
        answer(terminal, "each")
        answer(terminal, "no", "Yes or no:")
        answer(terminal, "yes", "Yes or no:")
        terminal.wait_for("1 of 2 changes are accepted")
        answer(terminal, "yes")
        terminal.wait_for("Agent: As you wish.")
        leave(terminal)
    assert (sandbox.project / "a.txt").read_text() == text.replace("line 20\n", "line twenty\n")
    assert decided(sandbox)[-1].hunks == (1,)


def test_agents_question_is_answered_by_number_or_left_open(sandbox: Sandbox):
    ask = {"tool": "ask_human", "arguments": {"question": "Which colour?", "options": ["red", "blue"]}}
    with plain(sandbox, ask, finish("Painted.")) as terminal:
        answer(terminal, "/later", "Answer:")
        terminal.wait_for("/question shows it again")
        terminal.type("/question\n")
        answer(terminal, "2", "Answer:")
        terminal.wait_for("Agent: Painted.")
        leave(terminal)
    seen = [event for event in log(sandbox) if isinstance(event, ActionObserved)]
    assert "blue" in json.dumps(seen[0].observation)


def test_ctrl_c_and_stop_stop_the_agent_a_message_continues_and_exit_quits(sandbox: Sandbox):
    sleeps = [bash(f"touch {name}; sleep 777") for name in ("begun", "again")]
    with plain(sandbox, *sleeps, finish("Well then."), TERM="dumb") as terminal:
        wait_for((sandbox.project / "begun").exists, "the command to run")
        terminal.press("ctrl+c")
        terminal.wait_for("Stopped by you.")
        terminal.type("go on\n")
        wait_for((sandbox.project / "again").exists, "the next command to run")
        terminal.type("/stop\n")
        terminal.wait_until(lambda screen: screen.count("Stopped by you.") == 2, "the run to end")
        terminal.type("/stop\n")
        terminal.wait_for("Nothing is running; /quit quits.")
        terminal.type("go on\n")
        terminal.wait_for("Agent: Well then.")
        terminal.type("/exit\n")
        assert terminal.wait_exit() == 0
    assert [event.text for event in log(sandbox) if isinstance(event, UserMessage)] == ["go", "go on", "go on"]


def test_dumb_terminal_gets_plain_mode_with_a_notice(sandbox: Sandbox):
    args = ("go", "--model", sandbox.script(finish("Done.")), "--workspace", str(sandbox.project))
    with Terminal(args, *SHAPE, sandbox.env | {"TERM": "dumb"}) as terminal:
        terminal.wait_for("TERM=dumb")
        terminal.wait_for("Agent: Done.")
        leave(terminal)
        assert b"\x1b" not in terminal.raw


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_during_a_question_ends_it_cleanly(sandbox: Sandbox, number: signal.Signals):
    with plain(sandbox, bash("touch made-it", risk="HIGH"), finish()) as terminal:
        terminal.wait_for(ASKS, 60)
        os.kill(terminal.pid, number)
        assert terminal.wait_exit() == 128 + number
        assert "Traceback" not in terminal.text()
    wait_for(lambda: not sandbox.processes(), "every process to be gone")
    assert not (sandbox.project / "made-it").exists()
    assert decided(sandbox) == []


def test_hostile_text_is_escaped_and_a_long_question_is_shown_in_pages(sandbox: Sandbox):
    hostile = "\x1b]52;c;cHdu\x07\u202e\x1b[2J"
    lines = "".join(f"echo {number} '{hostile}'\n" for number in range(60))
    args = ("go", "--plain", "--model", sandbox.script(bash(lines, risk="HIGH"), finish()))
    with Terminal([*args, "--workspace", str(sandbox.project)], 100, 24, sandbox.env) as terminal:
        terminal.wait_for("Part 1 of ", 60)
        terminal.wait_for("; Enter for the next")
        (parts,) = map(int, re.findall(r"Part 1 of (\d+);", terminal.text()))
        assert parts > 3
        answer(terminal, "yes", "Enter for the next:")
        assert decided(sandbox) == []
        for part in range(2, parts):
            terminal.wait_for(f"Part {part} of {parts}; Enter")
            answer(terminal, "", "Enter for the next:")
        answer(terminal, "no")
        answer(terminal, "", "(optional):")
        leave(terminal)
        assert strange(terminal.raw) == []
    assert [event.verdict for event in decided(sandbox)] == ["rejected"]


def test_trust_is_asked_before_anything_of_the_directory_is_used(sandbox: Sandbox):
    marker, tools = sandbox.home / "marker", sandbox.project / ".ohw/tools"
    tools.mkdir(parents=True)
    (tools / "evil.py").write_text(
        f"from pathlib import Path\nPath({str(marker)!r}).touch()\ntool = None\n# \x1b[31m\n"
    )
    (sandbox.project / ".ohw/rules.toml").write_text('[[deny]]\ncommand = "touch *"\n')
    (sandbox.project / ".mcp.json").write_text(
        '{"mcpServers": {"odd": {"command": "touch", "args": ["-c", "x \\u001b[7m"]}}}'
    )
    trust = "yes, no or read:"
    with plain(sandbox, finish("Done without it.")) as terminal:
        answer(terminal, "read", trust)
        answer(terminal, "", trust)  # anything but yes
        terminal.wait_for("They are ignored in this session.")
        terminal.wait_for("Done without it.", 60)
        leave(terminal)
        assert b"evil.py: code that runs with your rights" in terminal.raw
        assert b"rules.toml: rules on what is asked and denied" in terminal.raw
        assert b"it would start odd: touch -c x " in terminal.raw
        assert b"\x1b[7m" not in terminal.raw
        assert b"\x1b[31m" not in terminal.raw
        assert b"[31m" in terminal.raw
        assert not marker.exists()
    with plain(sandbox, finish("Done with it.")) as terminal:
        answer(terminal, "yes", trust)
        wait_for(marker.exists, "the tool to be loaded")
        terminal.wait_for("Done with it.", 60)
        leave(terminal)
    with plain(sandbox, finish("Not asked again.")) as terminal:
        terminal.wait_for("Not asked again.", 60)
        leave(terminal)
        assert b"Trust this directory?" not in terminal.raw


def test_servers_prompt_is_shown_and_sent_only_on_request(sandbox: Sandbox):
    sandbox.locations.config.mkdir(parents=True)
    table = fake_server(sandbox.home)
    lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
    sandbox.locations.settings_file.write_text("\n".join(["[mcpServers.fake]", *lines]))
    assert sandbox.command("mcp", "test", "fake").returncode == 0
    with plain(sandbox, finish("Fine."), finish("Done.")) as terminal:
        asked(terminal, "\n>")
        terminal.type("/fake:none\n")
        terminal.wait_for("There is no prompt fake:none. There are /fake:review.")
        terminal.type("/fake:review\n")
        terminal.wait_for("Not asked: file is required")
        terminal.type("/fake:review file=a.py\n")
        terminal.wait_for("End of the prompt. /send sends it as a message.", 60)
        terminal.wait_for("Review a.py.")
        assert [event.text for event in log(sandbox) if isinstance(event, UserMessage)] == ["go"]
        terminal.type("/send\n")
        terminal.wait_for("Done.", 60)
        terminal.type("/send\n")
        terminal.wait_for("There is no prompt to send")
        leave(terminal)
    assert [event.text for event in log(sandbox) if isinstance(event, UserMessage)] == ["go", "Review a.py."]


def test_plain_mode_does_not_import_the_screen():
    code = "import sys, workbench.plain.start; sys.exit(1 if {'textual', 'litellm'} & set(sys.modules) else 0)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode == 0


def test_terminal_without_unicode_gets_ascii_characters():
    assert in_ascii("a › b … ✓ é") == "a > b ... v \\xe9"
    assert in_ascii("rm a··b") == "rm a\\xb7\\xb7b"
    asked = [wants_ascii(env) for env in ({"LANG": "C"}, {"LANG": "C", "LC_CTYPE": "C.UTF-8"}, {"LC_ALL": "POSIX"})]
    assert asked == [True, True, True]
    assert wants_ascii({"LANG": "de_DE.ISO-8859-1"})
    assert not any(wants_ascii(env) for env in ({}, {"LANG": "de_DE.UTF-8"}, {"LANG": "C", "OHW_ASCII": "no"}))


def test_read_only_session_asks_nothing_until_it_is_in_control(sandbox: Sandbox):
    with plain(sandbox, bash("touch approved", risk="HIGH"), finish("All done.")) as first:
        asked(first)
        with Terminal(["attach", "--plain"], *SHAPE, sandbox.env, cwd=sandbox.project) as second:
            second.wait_for("Read-only: another screen controls this session.")
            second.wait_until(lambda _: second.raw.endswith(b"\n> "), "the prompt in place of the question")
            second.type("/pen\n")
            second.wait_for("This screen controls the session now")
            first.wait_for("Another screen took control.")
            answer(second, "y")
            second.wait_for("All done.")
            assert (sandbox.project / "approved").exists()


def test_session_goes_back_to_a_checkpoint_and_on_again(sandbox: Sandbox):
    (sandbox.project / "a.txt").write_text("mine\n")
    with plain(sandbox, bash("echo one >> a.txt"), finish("Added."), prompt="add one") as terminal:
        asked(terminal, "\n>")
        terminal.type("/rewind 99\n")
        terminal.wait_for("99 is no checkpoint; /rewind lists them.")
        terminal.type("/rewind yes\n")
        terminal.wait_for("/rewind EVENT comes first")
        terminal.type("/rewind\n")
        terminal.wait_for("before: add one")
        terminal.wait_for("/rewind EVENT shows what going back there would change.")
        terminal.type("/rewind 2\n")
        terminal.wait_for("Your message was: add one")
        terminal.wait_for("Nothing has changed yet. /rewind yes rewinds.")
        assert "write   a.txt" in terminal.raw.decode()
        assert (sandbox.project / "a.txt").read_text() == "mine\none\n"
        terminal.type("/rewind yes\n")
        wait_for(lambda: (sandbox.project / "a.txt").read_text() == "mine\n", "the file to go back")
        terminal.wait_for("Session rewound to event 1; 1 file changed; /redo undoes the last rewind.")
        terminal.type("/diff\n")
        terminal.wait_for("Nothing has changed.")
        terminal.type("/redo\n")
        terminal.wait_until(lambda _: terminal.raw.count(b"/rewind yes rewinds.") == 2, "the second preview")
        terminal.type("/rewind yes\n")
        wait_for(lambda: (sandbox.project / "a.txt").read_text() == "mine\none\n", "the file to return")
        leave(terminal)
