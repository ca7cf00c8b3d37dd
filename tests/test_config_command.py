"""`ohw config get|set|unset|edit|path` changes the settings file as a careful user would."""

from __future__ import annotations

import sys
from pathlib import Path

import pexpect
import pytest

from tests.sandbox import Sandbox

BEFORE = """\
# mine
max_steps = 7  # not more
mode = "ask"

[models.fast]  # for small tasks
model = "openai/x"

[models."gpt-5.1"]
model = "openai/gpt-5.1"
fallback_models = ["fast"]

[mcpServers.clock]
command = "clock"
env = { API_TOKEN = "s3cret-of-the-clock" }

[tools.shop]
url = "https://shop.example"
api_key = "s3cret-of-the-shop"

[tools.openapi.shop]
url = "https://api.example"
"""


@pytest.fixture
def user(sandbox: Sandbox) -> Sandbox:
    """A user whose settings file has comments, saved models, and secrets in places where they should not be."""
    sandbox.locations.config.mkdir(parents=True)
    sandbox.locations.settings_file.write_text(BEFORE)
    return sandbox


def text(sandbox: Sandbox) -> str:
    return sandbox.locations.settings_file.read_text()


def test_get_prints_each_hook(user: Sandbox):
    hooks = '[[hooks]]\nevent = "run_end"\ncommand = "notify"\n[[hooks]]\nevent = "before_action"\ncommand = "check"\n'
    user.locations.settings_file.write_text(hooks)
    lines = user.command("config", "get", "hooks").stdout.split("\n")
    assert lines[:4] == [
        *("hooks.1.event  run_end", "hooks.1.command  notify"),
        *("hooks.2.event  before_action", "hooks.2.command  check"),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_steps", "7"),
        ("mode", "ask"),
        ("token_limit", "0"),
        ("terminal.bell", "yes"),
        ("models.fast.model", "openai/x"),
        ("models.gpt-5.1.fallback_models", "fast"),
        ("models.gpt-5.1.calls", "auto"),
        ("tools.shop.url", "https://shop.example"),
        ("tools.openapi.shop.url", "https://api.example"),
    ],
)
def test_get_prints_the_value_in_effect(user: Sandbox, name: str, value: str):
    done = user.command("config", "get", name)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{value}\n", "")


def test_get_sees_the_environment_and_flags(user: Sandbox):
    assert user.command("config", "get", "max_steps", OHW_MAX_STEPS="9").stdout == "9\n"
    assert user.command("config", "get", "max_steps", "--max-steps", "3", OHW_MAX_STEPS="9").stdout == "3\n"


def test_get_prints_each_entry_of_a_table(user: Sandbox):
    assert user.command("config", "get", "models.fast").stdout == "models.fast.model  openai/x\n"
    assert "models.gpt-5.1.fallback_models  fast\n" in user.command("config", "get", "models").stdout


@pytest.mark.parametrize("name", ["model", "keys", "keys.quit", "models.none.model", "tools.none"])
def test_get_without_a_value_prints_nothing_and_fails(user: Sandbox, name: str):
    done = user.command("config", "get", name)
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize(
    "words",
    [
        ("get", "api_key"),
        ("get", "mcpServers"),
        ("get", "mcpServers.clock"),
        ("get", "mcpServers.clock.env"),
        ("get", "mcpServers.clock.command"),
        ("get", "tools"),
        ("get", "tools.shop"),
        ("get", "tools.shop.api_key"),
        ("set", "api_key", "sk-s3cret-of-the-user"),
        ("set", "api_key_env", "sk-s3cret-of-the-user"),
        ("set", "mcpServers.clock.command", "s3cret"),
        ("list",),
        (),
    ],
)
def test_no_secret_is_ever_printed(user: Sandbox, words: tuple[str, ...]):
    done = user.command("config", *words, OHW_API_KEY="sk-s3cret-of-the-environment")
    assert "s3cret" not in done.stdout + done.stderr
    assert text(user) == BEFORE


def test_password_of_a_url_is_not_printed(user: Sandbox):
    for words in (("get", "api_base"), ()):
        done = user.command("config", *words, OHW_API_BASE="http://me:hunter2secret@host.example/v1")
        assert "host.example" in done.stdout
        assert "hunter2secret" not in done.stdout


@pytest.mark.parametrize(
    ("name", "value", "old", "new"),
    [
        ("max_steps", "12", "max_steps = 7  # not more", "max_steps = 12  # not more"),
        ("max_steps", "1,200", "max_steps = 7  # not more", "max_steps = 1200  # not more"),
        ("mode", "high", 'mode = "ask"', 'mode = "high"'),
        ("models.fast.model", "openai/y", 'model = "openai/x"', 'model = "openai/y"'),
        ("models.gpt-5.1.model", "openai/z", 'model = "openai/gpt-5.1"', 'model = "openai/z"'),
        ("tools.shop.url", "https://new.example", "https://shop.example", "https://new.example"),
    ],
)
def test_set_changes_one_value_and_nothing_else(user: Sandbox, name: str, value: str, old: str, new: str):
    done = user.command("config", "set", name, value)
    assert (done.returncode, done.stderr) == (0, "")
    assert text(user) == BEFORE.replace(old, new)
    assert f"{name} is set in " in done.stdout


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("terminal.bell", "no", "bell = false"),
        ("stop_loops", "false", "stop_loops = false"),
        ("pass_env", "A_TOKEN, B_TOKEN", 'pass_env = ["A_TOKEN", "B_TOKEN"]'),
        ("container.image", "debian", 'image = "debian"'),
        ("agents.tester.max_steps", "5", "max_steps = 5"),
        ("tools.browser", "yes", "browser = true"),
        ("tools.shop.pages", "3", "pages = 3"),
        ("keys.edit-outside", "f7", 'edit-outside = "f7"'),
    ],
)
def test_set_adds_what_was_not_there_and_keeps_the_rest(user: Sandbox, name: str, value: str, line: str):
    done = user.command("config", "set", name, value)
    assert (done.returncode, done.stderr) == (0, "")
    assert line in text(user).splitlines()
    assert all(part in text(user) for part in BEFORE.split("\n\n")[:2])
    assert user.command("config", "get", name).stdout.strip() == value.replace("false", "no")


def test_set_creates_a_private_file(sandbox: Sandbox):
    assert sandbox.command("config", "set", "mode", "plan").returncode == 0
    assert text(sandbox) == 'mode = "plan"\n'
    assert sandbox.locations.settings_file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("max_stepz", "5", "did you mean 'max_steps'?"),
        ("terminal.bel", "no", "did you mean 'bell'?"),
        ("models.fast.modell", "x", "did you mean 'model'?"),
        ("mode.x", "5", "there is no setting 'mode.x'"),
        ("max_steps", "many", "max_steps must be a whole number"),
        ("mode", "hihg", "did you mean 'high'?"),
        ("terminal.bell", "perhaps", "terminal.bell must be yes or no"),
        ("api_base", "localhost", "must be a URL"),
        ("models", "x", "models is a table"),
        ("models.fast", "x", "models.fast is a table"),
        ("models.new.temperature", "1", "models.new.model is missing"),
        ("models.fast.fallback_models", "none-such", "none-such"),
        ("container.mounts", "relative", "is not SOURCE:TARGET"),
        ("keys.no-such", "f7", "there is no key binding"),
        ("tools.set", "everything", "tools.set must be one of"),
        ("api_key", "sk-x", "keys are not stored in settings"),
        ("mcpServers.new.command", "x", "`ohw mcp add` adds a server"),
    ],
)
def test_set_refuses_what_is_invalid_and_says_why(user: Sandbox, name: str, value: str, reason: str):
    done = user.command("config", "set", name, value)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert text(user) == BEFORE


def test_set_says_if_a_variable_overrides_the_file(user: Sandbox):
    done = user.command("config", "set", "max_steps", "9", OHW_MAX_STEPS="5")
    assert "OHW_MAX_STEPS overrides it" in done.stdout


def test_set_leaves_a_file_that_is_not_toml_alone(user: Sandbox):
    user.locations.settings_file.write_text("mode = \n")
    done = user.command("config", "set", "mode", "ask")
    assert done.returncode == 2
    assert ":1: this is not a value" in done.stderr
    assert "`ohw config edit` opens it" in done.stderr
    assert text(user) == "mode = \n"


def test_set_changes_a_file_with_another_invalid_setting(user: Sandbox):
    user.locations.settings_file.write_text('mode = "hihg"\nmax_steps = 3\n')
    assert user.command("config", "set", "max_steps", "4").returncode == 0
    assert user.command("config", "set", "mode", "high").returncode == 0
    assert text(user) == 'mode = "high"\nmax_steps = 4\n'


def test_unset_restores_the_default(user: Sandbox):
    assert user.command("config", "unset", "mode").returncode == 0
    assert user.command("config", "get", "mode").stdout == "medium\n"
    assert user.command("config", "unset", "models.gpt-5.1").returncode == 0
    assert text(user) == BEFORE.replace('mode = "ask"\n', "").replace(
        '[models."gpt-5.1"]\nmodel = "openai/gpt-5.1"\nfallback_models = ["fast"]\n\n', ""
    )
    again = user.command("config", "unset", "mode")
    assert (again.returncode, "mode is not set in" in again.stderr) == (2, True)


def test_unset_refuses_to_leave_a_saved_model_invalid(user: Sandbox):
    done = user.command("config", "unset", "models.fast.model")
    assert done.returncode == 2
    assert text(user) == BEFORE


def test_path_is_that_of_the_settings_file(user: Sandbox):
    assert Path(user.command("config", "path").stdout.strip()).expanduser() == user.locations.settings_file


@pytest.mark.parametrize("words", [("get",), ("set",), ("set", "mode"), ("unset",)])
def test_missing_words_are_named(user: Sandbox, words: tuple[str, ...]):
    done = user.command("config", *words)
    assert done.returncode == 2
    assert "`ohw config" in done.stderr


def edited(user: Sandbox, script: str) -> pexpect.spawn:
    """Run `ohw config edit` in a terminal, with a script as the editor, to its end."""
    editor = user.home / "my editor"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    env = {**user.env, "VISUAL": f"'{editor}'", "TERM": "xterm"}
    words = ["-m", "workbench", "config", "edit"]
    terminal = pexpect.spawn(sys.executable, words, env=env, cwd=str(user.project), encoding="utf-8", timeout=40)
    terminal.expect(pexpect.EOF)
    terminal.close()
    return terminal


def test_edit_opens_the_file_and_reports_what_is_invalid_afterwards(user: Sandbox):
    assert edited(user, 'echo \'theme = "ohw-light"\' > "$1"').exitstatus == 0
    assert text(user) == 'theme = "ohw-light"\n'
    terminal = edited(user, 'echo \'mode = "hihg"\' > "$1"')
    assert terminal.exitstatus == 1
    assert "settings.toml:1: mode must be one of" in terminal.before


def test_edit_reports_an_editor_that_fails_or_is_missing(user: Sandbox):
    assert "ended with code 3" in edited(user, "exit 3").before
    done = user.command("config", "edit")
    assert (done.returncode, "not a terminal" in done.stderr) == (2, True)
