"""A newcomer's first five minutes in a pseudo terminal: from an empty home to an approved edit, keystrokes counted.

A paste is one keystroke; the API key and the task are free.
"""

from __future__ import annotations

import re
import stat
import tomllib

import pytest

from tests.e2e.working_day import Day
from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn, finish
from tests.sandbox import Sandbox, wait_for
from tests.terminal.terminal import Terminal
from workbench.llm.key_store import KeyStore, key_name

KEY = "sk-first-0123456789abcdef"
WRONG = "sk-wrong-fedcba9876543210"
TASK = "say hello in English"
MOST_KEYSTROKES = 8


def edit(path: str) -> Turn:
    arguments = {"command": "str_replace", "path": path, "old_str": "Hallo", "new_str": "Hello"}
    return Turn(calls=(Called("str_replace_editor", {"security_risk": "MEDIUM", "summary": "Say hello", **arguments}),))


def files_with(sandbox: Sandbox, secret: str) -> list[str]:
    roots = (sandbox.home, sandbox.project)
    files = [path for root in roots for path in root.rglob("*") if path.is_file()]
    return sorted(str(path) for path in files if secret.encode() in path.read_bytes())


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("size", "wrong_keys"), [((80, 24), 1), ((120, 40), 0)], ids=["80x24-wrong-first", "120x40-right"]
)
def test_from_an_empty_home_to_an_approved_edit_on_a_server_that_wants_a_key(sandbox: Sandbox, size, wrong_keys):
    del sandbox.env["OPENAI_API_KEY"]
    file = sandbox.project / "hello.txt"
    file.write_text("Hallo\n")
    turns = [Turn("Ready."), edit(str(file)), finish("It says hello.")]
    arguments = ["--workspace", str(sandbox.project)]
    with ModelServer(turns, key=KEY, names=["small-model"]) as server:  # noqa: SIM117
        with Terminal(arguments, *size, sandbox.env) as terminal:
            user = Day(sandbox, terminal)
            screen = user.sees("Welcome to ohw. Connect a model:", "paste a key", "Other (OpenAI-compatible)")
            user.hands.press(re.search(r"(\d) Other", screen)[1])
            user.sees("Tab Next field")
            user.hands.paste(server.base_url)
            user.sees(server.base_url)
            user.hands.press("tab")
            for _ in range(wrong_keys):
                terminal.paste(WRONG)
                user.sees("✗ 401: this key was rejected. Paste another one, or Tab to change it.", WRONG[-4:])
            terminal.paste(KEY)
            user.sees(KEY[-4:], "small-model", "1 model")
            user.hands.press("enter")
            user.sees("What should we work on?")
            terminal.type(TASK)
            user.sees(TASK)
            user.hands.press("enter")
            user.sees("hello.txt", "y ", "Hello")
            wait_for(lambda: len(server.requests) == 2, "the edit to be proposed")
            terminal.wait_until(lambda screen: re.search(r"\by approve\b", screen, re.IGNORECASE), "an armed question")
            user.hands.press("y")
            wait_for(lambda: file.read_text() == "Hello\n", "the edit")
            user.sees("It says hello.")
            everything = terminal.raw.decode(errors="replace")
            terminal.press("ctrl+q")
            assert terminal.wait_exit() == 0
    assert user.hands.count() <= MOST_KEYSTROKES
    assert KEY[:-4] not in everything
    assert [each for each in server.rejected if each] == [f"Bearer {WRONG}"] * wrong_keys
    settings = tomllib.loads(sandbox.locations.settings_file.read_text())
    assert settings["models"]["small-model"] == {"model": "openai/small-model", "api_base": server.base_url}
    stored = KeyStore(sandbox.locations).find(key_name("openai/small-model", server.base_url))
    assert stat.S_IMODE(stored.path.stat().st_mode) == 0o600
    assert files_with(sandbox, KEY) == [str(stored.path)]
    assert files_with(sandbox, WRONG) == []


@pytest.mark.timeout(120)
def test_saved_key_is_no_variable_of_a_command(sandbox: Sandbox):
    del sandbox.env["OPENAI_API_KEY"]
    command = Called("execute_bash", {"security_risk": "LOW", "summary": "env", "command": "env | sort > seen"})
    with ModelServer([Turn(calls=(command,)), finish()], key=KEY) as server:
        KeyStore(sandbox.locations).save(key_name("openai/small", server.base_url), KEY, "file")
        done = sandbox.ohw(
            *("run", "go", "--model", "openai/small", "--api-base", server.base_url, "--mode", "never"),
        )
    assert done.returncode == 0, done.stderr
    assert "PATH=" in (sandbox.project / "seen").read_text()
    assert KEY not in (sandbox.project / "seen").read_text()
    assert KEY not in done.stdout + done.stderr
    assert len(files_with(sandbox, KEY)) == 1
