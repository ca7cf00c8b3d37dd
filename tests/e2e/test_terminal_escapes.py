"""Escape sequences in text from outside: whatever shows it, only sequences on the allowlist reach the terminal."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.sandbox import Sandbox, bash, finish, toml, wait_for
from tests.terminal.allowed_output import PLAIN, strange
from tests.terminal.terminal import Terminal

PAYLOADS = (
    "\x1b]52;q;cHdu\x07",
    "\x1b[77n",
    "\x1b]0;title\x07",
    "\x1b]8;;http://x.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[9917;9977H",
    "\x1b[8mgone",
    "\x1b[5i",
    "\x1bP+q544e\x1b\\",
    "\x1b_x\x1b\\",
    "\x1b^x\x1b\\",
    "\x9b31m",
    "\x9d0;t\x9c",
    "\x07\x08\x0b\x0c\x0e\x7f",
    "\x1b[?1049;77l",
    "a\u202egnp.exe",
    "a\u2066b\u2069",
    "a\u200bb\u200cc\u2060d\ufeff",
    "a\U000e0041\U000e0042b",
    "\u2028\u2029",
    "\u3164\u115f\xad",
    "\x1bc",
    "\x1b[3;1t",
)
MARKUP = "[@click=app.quit]x[/][/foo][red"


def hostile(name: str) -> str:
    """Return all payloads after a name that identifies where they were shown."""
    return name + "".join(PAYLOADS) + MARKUP + " END"


def safe(name: str) -> str:
    """Return the part of `hostile(name)` that the narrowest place shows."""
    return name + r"\e]52;q"


def file_name(name: str) -> str:
    return hostile(name).replace("/", "")[:100]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_each_payload_would_be_detected(payload):
    assert strange(f"a{payload}b".encode())
    assert strange(f"a{payload}b".encode(), allowed=PLAIN)


def edit(path: str, text: str) -> dict[str, object]:
    arguments = {"command": "create", "path": path, "file_text": text}
    return {"tool": "str_replace_editor", "risk": "MEDIUM", "summary": hostile("summary"), "arguments": arguments}


@contextmanager
def over(terminal: Terminal, open_with: str, *marks: str) -> Iterator[None]:
    """Open a screen over the main one with a key or a command, wait for it, and close it again."""
    if open_with.startswith("/"):
        terminal.type(open_with)
        terminal.wait_for(open_with)
        terminal.press("enter")
    else:
        terminal.press(open_with)
    for mark in marks:
        terminal.wait_for(mark)
    yield
    terminal.press("escape")
    terminal.wait_until(lambda screen: marks[0] not in screen, f"{marks[0]!r} to be closed")


def configure(sandbox: Sandbox) -> None:
    """Write settings, a rule, files and a branch that hold the payloads."""
    directory = sandbox.locations.config
    directory.mkdir(parents=True)
    tables = f"theme = {toml(hostile('colour'))}\n[models.own]\nmodel = {toml('openai/' + MARKUP)}\n"
    tables += f"[mcpServers.far]\nenabled = false\ncommand = {toml(hostile('server'))}\n"
    (directory / "settings.toml").write_text(tables, encoding="utf-8")
    (directory / "rules.toml").write_text(f"[[deny]]\ncommand = {toml('rule' + PAYLOADS[0])}\n", encoding="utf-8")
    theme = f"name = {toml(hostile('ohw-hue'))}\nprimary = '#7cc4d8'\n"
    (directory / "themes").mkdir()
    (directory / "themes/own.toml").write_text(theme, encoding="utf-8")
    (directory / "themes" / (file_name("broken") + ".toml")).write_text(hostile("hue"), encoding="utf-8")
    (sandbox.project / file_name("file")).write_text(hostile("inside"))
    (sandbox.project / "text").write_text(hostile("output"))
    subprocess.run(["git", "init", "-q", "-b", "evil\u202ebranch"], cwd=sandbox.project, check=True)


def hostile_turns(sandbox: Sandbox) -> list[dict[str, object]]:
    """Return the turns of a model with payloads in everything it sends, from its reasoning to its last message."""
    plan = [{"id": "1", "title": hostile("task"), "status": "todo"}]
    ask = {"question": hostile("query"), "options": [hostile("option"), "no"]}
    return [
        bash("cat text; ls") | {"text": hostile("said"), "reasoning": hostile("mused")},
        {"tool": "task_tracker", "arguments": {"command": "plan", "task_list": plan}},
        edit(f"{sandbox.project}/{file_name('new')}", hostile("line")),
        bash(f"echo '{hostile('danger')}'", risk="HIGH"),
        {"tool": "ask_human", "arguments": ask},
        finish(hostile("done")),
    ]


def test_no_surface_passes_escape_sequences_through(sandbox: Sandbox):
    """Wait for each surface by its own mark; each must show the payloads as text."""
    configure(sandbox)
    args = (hostile("prompt"), "--model", sandbox.script(*hostile_turns(sandbox)), "--workspace", str(sandbox.project))
    with Terminal(args, 150, 40, sandbox.env) as terminal:
        show_questions(terminal)
        show_panels(terminal)
        show_screens(terminal)
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert strange(terminal.raw, bells=3) == []  # a bell for each question at most


def show_questions(terminal: Terminal) -> None:
    """Show the three questions and the conversation behind them."""
    terminal.wait_for("y Approve", 40)
    for mark in ("Change", safe("new"), safe("line")):
        terminal.wait_for(mark)
    terminal.press("y")
    terminal.wait_for("▌ $ " + safe("echo 'danger"))  # beside the bar of its panel
    asked = re.compile(r"▲ HIGH(?:.*\n){1,30}.*y Approve +n Reject")  # its own keys, none of the question before
    terminal.wait_until(asked.search, "the second question to take keys")
    terminal.press("n")
    terminal.wait_for("Reason for the agent")
    terminal.press("enter")
    for mark in ("The agent asks", safe("query"), safe("option"), "Enter Send"):
        terminal.wait_for(mark)
    terminal.press("1")
    terminal.wait_until(lambda screen: "The agent asks" not in screen, "the question to be answered")
    terminal.wait_for(safe("done"))


def show_panels(terminal: Terminal) -> None:
    """Show the panels around the conversation and the lists above the prompt."""
    for mark in (r"evil\u202ebranch", safe("task"), safe("new")):
        terminal.wait_for(mark)
    terminal.type("@")
    terminal.wait_for(safe("file"))
    terminal.press("backspace")
    terminal.wait_until(lambda screen: safe("file") not in screen, "the list to be closed")
    terminal.press("ctrl+r")
    terminal.wait_for("Sent before")
    terminal.wait_for("│ › " + safe("prompt"))
    terminal.press("escape")
    terminal.wait_until(lambda screen: "Sent before" not in screen, "the list to be closed")


def show_screens(terminal: Terminal) -> None:
    """Open every screen over the main one."""
    with over(terminal, "f5", "m Reviewed", safe("new"), safe("line")):
        pass
    terminal.press("f2")
    terminal.wait_for("Enter Open")
    terminal.press("home", "down", "down")
    terminal.wait_for("›✓ Create")
    with over(terminal, "enter", "/ Search   n Next", safe("new"), safe("line")):
        pass
    terminal.press("escape")  # from the timeline back to the prompt
    terminal.wait_for("Enter Send")
    with over(terminal, "/rules", "Try a rule on this session", safe("rule")):
        pass
    with over(terminal, "/model", "Switch model", "own", "openai/" + MARKUP):
        pass
    with over(terminal, "ctrl+p", "Enter Open   Esc Close", "keys and guides"):
        look_for(terminal, "own", "openai/" + MARKUP)
    with over(terminal, "/theme", "Enter Use", safe("ohw-hue")):
        pass
    with over(terminal, "/sessions", "Sessions · 1", safe("prompt")):
        pass
    with over(terminal, "ctrl+p", "Enter Open   Esc Close", "keys and guides"):
        look_for(terminal, "filenew", safe("new"))
    with over(terminal, "/cost", "By model"):
        pass
    with over(terminal, "/settings", "2 invalid settings"):
        pass
    with over(terminal, "/mcp", "MCP servers", "disabled", safe("server")):
        pass
    with over(terminal, "/problems", "Problems in settings and themes", safe("broken")):
        pass
    with over(terminal, "f1", "Keys here"):
        pass


def look_for(terminal: Terminal, typed: str, mark: str) -> None:
    """Type into the palette, once it accepts keys, until it shows the entry."""
    wait_for(lambda: terminal.type(f"\x15{typed}") or is_shown(terminal, mark), f"{mark!r} in the palette")


def is_shown(terminal: Terminal, mark: str) -> bool:
    try:
        return bool(terminal.wait_for(mark, 3))
    except AssertionError:
        return False


def test_commands_print_only_harmless_bytes(sandbox: Sandbox):
    (sandbox.project / "text").write_text(hostile("output"))
    model = sandbox.script(bash("cat text"), finish(hostile("done")))
    run = sandbox.ohw("run", "-", "--model", model, "--mode", "never", stdin=hostile("prompt"))
    rated = sandbox.command("risk", hostile("x"), f"echo '{hostile('x')}'")
    listed = sandbox.command("sessions")
    assert run.returncode == 0, run.stderr
    for done in (run, rated, listed):
        assert strange((done.stdout + done.stderr).encode("utf-8", "surrogateescape"), allowed=PLAIN) == []
    assert safe("done") in run.stdout
    assert [json.loads(line)["risk"] for line in rated.stdout.splitlines()] == ["HIGH", "HIGH"]


def test_names_with_escape_sequences_are_harmless_in_title_and_trust_screen(
    sandbox: Sandbox,
):
    directory = sandbox.project / file_name("folder")
    directory.mkdir()
    (directory / ".ohw/tools").mkdir(parents=True)
    (directory / ".ohw/tools" / f"{file_name('tool')}.py").write_text("tool = None\n")
    env = {**sandbox.env, "TERM": "xterm-256color"}
    args = ("--workspace", str(directory), "--model", sandbox.script(finish("done")))
    with Terminal(args, 110, 34, env) as terminal:
        terminal.wait_for(safe("folder"))
        terminal.wait_for(safe("tool"))  # the question of whether to trust the directory
        terminal.wait_until(lambda screen: b"\x1b]2;ohw folder" in terminal.raw, "the title")
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0
    assert strange(terminal.raw) == []
