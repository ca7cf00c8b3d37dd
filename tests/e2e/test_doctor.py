"""`ohw doctor` says what a session needs and does not find."""

import json
import shutil
import sys

import pexpect
import pytest

from tests.sandbox import Sandbox
from workbench.cli.doctor import CHECKS

Found = tuple[str, str]


def findings(sandbox: Sandbox, **variables: str) -> tuple[int, dict[str, Found]]:
    """Run the command; return its exit code, and the state and text of each subject."""
    done = sandbox.command("doctor", **variables)
    assert not done.stderr
    rows = [(line[:5].strip(), line[7:18].strip(), line[20:]) for line in done.stdout.splitlines()]
    return done.returncode, {subject: (state, text) for state, subject, text in rows}


def write_settings(sandbox: Sandbox, text: str) -> None:
    sandbox.locations.config.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text(text)


def test_new_user_has_no_error_and_is_told_to_choose_a_model(sandbox: Sandbox):
    code, found = findings(sandbox)
    assert code == 0
    assert len(found) == len(CHECKS)
    assert found["model"][0] == "note"
    assert {found[subject][0] for subject in ("ohw", "settings", "bash", "git", "MCP servers", "storage")} == {"ok"}


@pytest.mark.parametrize(
    ("settings", "subject", "text"),
    [
        ("max_steps = 'many'\n", "settings", "max_steps"),
        ("model = 'own'\n[models.own]\nmodel = 'openai/m'\napi_key_env = 'OWN_KEY'\n", "model", "OWN_KEY is not set"),
        (
            "model = 'own'\n[models.own]\nmodel = 'openai/m'\napi_key_file = '/none/key'\n",
            "model",
            "/none/key is missing",
        ),
        ("[container]\nimage = 'bash'\n", "container", "podman"),
    ],
)
def test_what_a_session_cannot_work_without_is_an_error(sandbox: Sandbox, settings: str, subject: str, text: str):
    write_settings(sandbox, settings)
    code, found = findings(sandbox, PATH="/none")
    assert code == 1
    assert found[subject][0] == "error"
    assert text in found[subject][1]


def test_servers_that_cannot_be_used_are_notes(sandbox: Sandbox):
    write_settings(sandbox, "[mcpServers.files]\nargs = ['x']\n")
    code, found = findings(sandbox)
    assert (code, found["MCP servers"][0]) == (0, "note")


def test_other_agents_are_listed_if_their_programs_are_there(sandbox: Sandbox):
    write_settings(sandbox, "[agents.one]\ncommand = 'sh'\n[agents.two]\ncommand = 'no-such-agent'\n")
    lines = [each for each in sandbox.command("doctor").stdout.splitlines() if " agents " in each]
    assert [line.split()[0] for line in lines] == ["note", "ok"]
    assert "two: there is no program no-such-agent; install it" in lines[0]
    assert "one" in lines[1]


def test_sandbox_that_is_demanded_and_missing_is_an_error(sandbox: Sandbox):
    code, found = findings(sandbox, OHW_SANDBOX="read-only", PATH="/none")
    assert code == 1
    assert found["sandbox"][0] == "error"


def test_key_that_is_set_is_found_and_never_printed(sandbox: Sandbox):
    write_settings(sandbox, "model = 'own'\n[models.own]\nmodel = 'openai/m'\napi_key_env = 'OWN_KEY'\n")
    done = sandbox.command("doctor", OWN_KEY="sk-planted-key")
    assert done.returncode == 0
    assert "OWN_KEY is set" in done.stdout
    assert "planted" not in done.stdout


def test_missing_programs_are_named_with_what_follows(sandbox: Sandbox):
    code, found = findings(sandbox, PATH="/none")
    assert code == 1
    assert found["bash"][0] == "error"
    assert found["git"] == (
        "note",
        "git is not installed, or not in the PATH; without it nothing can be undone; install git",
    )
    assert found["browser"][0] == "note"


@pytest.mark.parametrize("settings", ["", "x = [", "'a\\u001b]0;b' = 1"])
def test_control_characters_and_broken_files_do_not_end_it(sandbox: Sandbox, settings: str):
    write_settings(sandbox, settings)
    done = sandbox.command("doctor", TERM="x\x1b[31m")
    assert "\x1b" not in done.stdout
    assert len(done.stdout.splitlines()) >= len(CHECKS)


def test_sandbox_is_proven_or_the_reason_is_named(sandbox: Sandbox):
    assert findings(sandbox, OHW_SANDBOX="off")[1]["sandbox"][0] == "note"
    state, text = findings(sandbox, OHW_SANDBOX="auto")[1]["sandbox"]
    assert (state == "ok") == ("proven" in text)
    if shutil.which("bwrap") is None:
        assert "bubblewrap" in text


BARE = {"PATH": "/none", "TERM": "dumb", "OHW_SANDBOX": "workspace-write"}
"""The variables of a machine on which nothing is installed."""


def test_json_has_the_same_findings_with_what_to_do(sandbox: Sandbox):
    done = sandbox.command("doctor", "--json", **BARE)
    report = json.loads(done.stdout)
    assert (done.returncode, done.stderr, report["ok"]) == (1, "", False)
    lines = sandbox.command("doctor", **BARE).stdout.splitlines()
    assert [
        f"{each['state']:<5}  {each['subject']:<11}  {each['text']}" + (f"; {each['advice']}" if each["advice"] else "")
        for each in report["findings"]
    ] == lines
    assert json.loads(sandbox.command("doctor", "--json").stdout)["ok"] is True


@pytest.mark.parametrize(
    "settings",
    [
        "",
        "max_steps = 'many'\n[container]\nimage = 'bash'\n[mcpServers.a]\nargs = ['x']\n",
        "model = 'own'\n[models.own]\nmodel = 'openai/m'\napi_key_env = 'OWN_KEY'\n",
        "model = 'none-such/x'\n",
    ],
)
def test_whatever_is_missing_comes_with_what_to_do(sandbox: Sandbox, settings: str):
    write_settings(sandbox, settings)
    findings = json.loads(sandbox.command("doctor", "--json", **BARE).stdout)["findings"]
    assert {each["subject"] for each in findings if each["state"] != "ok"} >= {"bash", "git", "sandbox", "model"}
    assert [each for each in findings if each["state"] != "ok" and not each["advice"]] == []


def test_secrets_in_the_settings_are_not_printed(sandbox: Sandbox):
    key = "sk-proj-" + "Ab3dEf9hIj2kLm5nOp8q" * 2
    write_settings(sandbox, f"mode = '{key}'\n")
    for words in ((), ("--json",)):
        done = sandbox.command("doctor", *words)
        assert "mode must be one of" in done.stdout
        assert key not in done.stdout


def test_terminal_is_described_where_there_is_one(sandbox: Sandbox):
    env = {**sandbox.env, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
    words = ["-m", "workbench", "doctor"]
    terminal = pexpect.spawn(sys.executable, words, env=env, cwd=str(sandbox.project), dimensions=(40, 150), timeout=40)
    terminal.expect(pexpect.EOF)
    assert b"xterm-256color, 150 columns, 40 rows, 16 million colors" in terminal.before
