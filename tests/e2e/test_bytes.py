"""Text from outside on its way to the terminal: whatever it holds, only harmless bytes arrive there."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.terminal.allowed import strange
from tests.terminal.terminal import Terminal
from tests.world import World, bash, finish, wait_for
from workbench.session.storage.catalog import list_sessions

PAYLOADS = (
    "\x1b]52;c;cHdu\x07",
    "\x1b]0;title\x07",
    "\x1b]8;;http://x.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[H",
    "\x1b[8mgone",
    "\x1b[5i",
    "\x1bP+q544e\x1b\\",
    "\x1b_x\x1b\\",
    "\x1b^x\x1b\\",
    "\x9b31m",
    "\x9d0;t\x9c",
    "\x07\x08\x0b\x0c\x0e\x7f",
    "\x1b[?1049l",
    "a\u202egnp.exe",
    "a\u2066b\u2069",
    "a\u200bb\u200cc\u2060d\ufeff",
    "a\U000e0041\U000e0042b",
    "\u2028\u2029",
    "\u3164\u115f\xad",
    "[@click=app.quit]x[/]",
    "[/foo]",
    "[red",
    "\x1b[6n",
    "\x1bc",
    "\x1b[3;1t",
)
HOSTILE = "".join(f"{number}{payload}" for number, payload in enumerate(PAYLOADS)) + " END"
BY_MODEL = re.sub("[\U00010000-\U0010ffff]", "", HOSTILE)  # a script of the offline model cannot hold the others


@pytest.mark.parametrize("payload", [payload for payload in PAYLOADS if not payload.startswith("[")])
def test_what_is_not_allowed_is_found(payload):
    allowed_by_themselves = {"\x1b[2J\x1b[H", "\x1b[?1049l", "\x1b[6n", "\x1b[3;1t"}
    assert bool(strange(f"a{payload}b".encode())) == (payload not in allowed_by_themselves)


def test_no_widget_lets_a_sequence_through(world: World):
    """Title, conversation, timeline, card, question, file names, output and the end of a run hold all payloads."""
    (world.project / "evil\x1b]0;n\x07\u202ename.txt").write_text(HOSTILE)
    (world.project / "text").write_text(HOSTILE)
    subprocess.run(["git", "init", "-q", "-b", "evil\u202ebranch"], cwd=world.project, check=True)
    model = world.script(bash("cat text; ls; cat evil*"), bash(f"echo '{BY_MODEL}'", risk="HIGH"), finish(BY_MODEL))
    args = (HOSTILE.replace("\x00", ""), "--model", model, "--workspace", str(world.project))
    with Terminal(args, 120, 36, world.env) as terminal:
        terminal.wait_for("HIGH", 60)
        terminal.press("escape", "2", "enter")
        wait_for(lambda: list_sessions(world.locations), "the session to be listed")
        terminal.press("escape", "3", "enter", "escape", "f1")
        terminal.text()
        terminal.press("escape", "ctrl+q")
        terminal.text()
    assert len(terminal.raw) > 5_000
    bell = r"\x07Saved in"  # the one that says there is a question
    assert [each for each in strange(terminal.raw) if bell not in each] == []


def test_commands_print_harmless_bytes_alone(world: World):
    (world.project / "text").write_text(HOSTILE)
    model = world.script(bash("cat text"), finish(BY_MODEL))
    run = world.ohw("run", "-", "--model", model, "--mode", "never", stdin=HOSTILE)
    rated = world.ohw("risk", HOSTILE, f"echo '{HOSTILE}'")
    listed = world.ohw("sessions")
    assert run.returncode == 0, run.stderr
    for done in (run, rated, listed):
        assert strange((done.stdout + done.stderr).encode("utf-8", "surrogateescape")) == []
    assert r"0\e]52;c;cHdu\x07" in run.stdout
    assert [json.loads(line)["risk"] for line in rated.stdout.splitlines()] == ["HIGH", "HIGH"]
