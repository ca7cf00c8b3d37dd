"""bash, zsh and fish complete the command line of `ohw`, after the one line that the guide gives for each."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.sandbox import Sandbox
from tests.system_packages import found_or_installed
from workbench import __version__
from workbench.cli.arguments import SHELLS, parser_of
from workbench.cli.command_help import COMMANDS, SUBCOMMANDS
from workbench.cli.completion import parser_with_values
from workbench.config.setting_kinds import declared
from workbench.config.settings import Profile

GUIDE = Path(__file__).parents[2] / "workbench/guide/shell.md"
STARTUP_FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
SESSION = "20261129-fix-the-parser-3f2a"


@pytest.fixture
def user(sandbox: Sandbox) -> Sandbox:
    """A user with a saved model, a session, rules and an MCP server, whose PATH has `ohw` first."""
    where = sandbox.locations
    where.config.mkdir(parents=True)
    where.sessions.mkdir(parents=True)
    where.settings_file.write_text('[models.fast]\nmodel = "openai/x"\n[mcpServers.clock]\ncommand = "clock"\n')
    where.rules_file.write_text('[[deny]]\ntool = "execute_bash"\ncommand = "git push *"\n')
    (where.sessions / f"{SESSION}.session").touch()
    (sandbox.project / "my notes.md").touch()
    programs = Path(sys.executable).parent
    sandbox.env |= {"PATH": f"{programs}:{sandbox.env['PATH']}", "TERM": "xterm", "PROMPT": "", "COLUMNS": "200"}
    return sandbox


def offers(sandbox: Sandbox, line: str, **variables: str) -> dict[str, str]:
    """Return what is offered at the end of a line, with explanations, as the script of fish gets it."""
    output = sandbox.home / "completions"
    env = {
        **sandbox.env,
        **{"_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": "fish", "_ARGCOMPLETE_SUPPRESS_SPACE": "1"},
        **{"_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_DFS": "\t", "_ARGCOMPLETE_STDOUT_FILENAME": str(output)},
        **{"COMP_LINE": line, "COMP_POINT": str(len(line))},
        **variables,
    }
    command = [sys.executable, "-m", "workbench"]
    done = subprocess.run(command, env=env, cwd=sandbox.project, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return dict(row.split("\t") for row in output.read_text().split("\n") if row)


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, user: Sandbox) -> Iterator[pexpect.spawn]:
    """A shell in a terminal, whose startup file has only the guide's line."""
    name = request.param
    program = found_or_installed(lambda: shutil.which(name), name)
    (line,) = re.findall(rf"^    (.*ohw completion {name}.*?)(?: {{2,}}#.*)?$", GUIDE.read_text(), re.MULTILINE)
    startup = user.home / STARTUP_FILES[name]
    startup.parent.mkdir(parents=True, exist_ok=True)
    startup.write_text(f"{line}\n")
    # Without this directory, fish reads all manual pages of the system while it starts.
    (user.home / ".local/share/fish/generated_completions").mkdir(parents=True)
    terminal = pexpect.spawn(
        program, ["-i"], env=user.env, cwd=str(user.project), dimensions=(50, 200), encoding="utf-8", timeout=40
    )
    terminal.sendline("echo started-$((40 + 2))" if name != "fish" else "echo started-(math 40 + 2)")
    terminal.expect("started-42")
    yield terminal
    terminal.close(force=True)


def completed(shell: pexpect.spawn, typed: str) -> str:
    """Return the line after Tab, as the shell itself reads its words: a command that prints them is put around it."""
    shell.send(f"{typed}\t")
    shell.send("\x01printf '<%s>' Line \x05 End\r")
    shell.expect(r"<Line>((?:<[^>\r\n]*>)+)<End>")
    return " ".join(re.findall(r"<(.*?)>", shell.match[1]))


LINES = {
    "ohw doct": "ohw doctor",
    "ohw run --js": "ohw run --json",
    "ohw --mode pl": "ohw --mode plan",
    "ohw export --size 80x24 --mark": "ohw export --size 80x24 --markdown",
    "ohw --model fa": "ohw --model fast",
    "ohw resume 2026": f"ohw resume {SESSION}",
    "ohw mcp test cl": "ohw mcp test clock",
    "ohw decisions --rule de": "ohw decisions --rule deny $ git push *",
    "ohw config get max_c": "ohw config get max_cost",
    "ohw config set models.fast.ca": "ohw config set models.fast.calls",
    "ohw config set terminal.keymap vi": "ohw config set terminal.keymap vim",
    "ohw import my": "ohw import my notes.md",
    "ohw batch rep": "ohw batch report",
    "ohw batch report --mark": "ohw batch report --markdown",
}
"""What is typed before Tab, and the line after it: of each kind of word, one."""


def test_tab_completes_after_the_line_of_the_guide(shell: pexpect.spawn):
    """One shell completes all lines, as a user's does: starting it takes more than its completions."""
    assert {typed: completed(shell, typed) for typed in LINES} == LINES


def test_tab_completes_the_last_command_of_a_line(shell: pexpect.spawn):
    shell.send("true; ohw --vers\t\r")
    assert shell.expect([rf"ohw {re.escape(__version__)}", "Error|error|usage"]) == 0


def test_every_command_is_offered_with_what_it_does(user: Sandbox):
    assert offers(user, "ohw ") == COMMANDS


@pytest.mark.parametrize("command", ["", *COMMANDS, *SUBCOMMANDS])
def test_every_option_is_offered(user: Sandbox, command: str):
    listed = (action for action in parser_of(command)._actions if action.help != argparse.SUPPRESS)
    options = {option for action in listed for option in action.option_strings}
    assert offers(user, f"ohw {command} -".replace("  ", " ")).keys() == options


@pytest.mark.parametrize("command", ["", *COMMANDS, *SUBCOMMANDS])
def test_every_argument_with_a_value_has_something_that_completes_it(command: str):
    """An argument that nothing is known about, not even that it is free text, raises a KeyError."""
    actions = [action for action in parser_with_values(command)._actions if action.nargs != 0]
    assert [action.dest for action in actions if not hasattr(action, "completer")] == []


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("ohw --mode ", {"plan", "ask", "medium", "edits", "high", "never"}),
        ("ohw --mode=pl", {"--mode=plan"}),
        ("ohw --model ", {"fast"}),
        ("ohw models test ", {"fast"}),
        ("ohw compare ", {SESSION}),
        ("ohw sessions repair ", {SESSION}),
        ("ohw decisions --rule ", {"deny $ git push *"}),
        ("ohw rules try ", {"deny $ git push *"}),
        ("ohw mcp login ", {"clock"}),
        ("ohw --workspace ", {"sub dir/"}),
        ("ohw --workspace ~/../pro", {"~/../project/"}),
        ("ohw import ", {"my notes.md", "sub dir/"}),
        ("ohw import .", {".hidden"}),
        ("ohw batch ", {"report", "diff", "predictions", "watch", "my notes.md", "sub dir/"}),
        ("ohw batch report ", {"sub dir/"}),
        ("ohw batch diff one ", {"sub dir/"}),
        ("ohw config set mode ", {"plan", "ask", "medium", "edits", "high", "never"}),
        ("ohw config set terminal.bell ", {"yes", "no"}),
        ("ohw config set model ", {"fast"}),
        ("ohw config get models.", {f"models.fast.{name}" for name in declared(Profile)}),
        ("ohw restore 3 ", {"my notes.md", "sub dir/"}),
        ("ohw mcp add new my", {"my notes.md"}),
        ("ohw import 'my", {"my notes.md"}),
        ("ohw run -- --", set()),
        ("ohw replay --prompt ", set()),
        ("ohw -- do", set()),
    ],
)
def test_values_are_those_that_exist(user: Sandbox, line: str, values: set[str]):
    (user.project / "sub dir").mkdir()
    (user.project / ".hidden").touch()
    assert offers(user, line).keys() == values


def test_options_are_offered_where_there_is_nothing_else(user: Sandbox):
    assert "--versions" in offers(user, "ohw restore ")
    assert "--json" in offers(user, "ohw run ")
    assert "--json" not in offers(user, "ohw run --json ")


def test_options_after_the_command_of_another_machine_are_completed(user: Sandbox):
    assert offers(user, "ohw ssh://host/srv resu").keys() == {"resume"}
    assert offers(user, "ohw --model fast resume --la").keys() == {"--last"}


def test_names_that_would_control_the_terminal_are_not_offered(user: Sandbox):
    servers = {"\x1b]0;owned\x07": {"command": "x"}, "calm": {"command": "x"}, "a\nb": {"command": "x"}}
    (user.project / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (user.project / "\x1b[31mred").touch()
    assert offers(user, "ohw mcp test ").keys() == {"clock", "calm"}
    assert offers(user, "ohw import ").keys() == {"my notes.md"}


def test_files_that_cannot_be_read_offer_nothing(user: Sandbox):
    user.locations.settings_file.write_text("model = \n")
    user.locations.rules_file.write_bytes(b"\xff")
    (user.project / ".mcp.json").write_text("[")
    shutil.rmtree(user.locations.sessions)
    for line in ("ohw --model ", "ohw decisions --rule ", "ohw mcp test x", "ohw resume 2"):
        assert offers(user, line) == {}


@pytest.mark.parametrize("line", ["ohw ", "ohw resume ", "ohw --model ", "ohw mcp test ", "ohw decisions --rule "])
def test_a_completion_loads_no_engine_and_nothing_large(user: Sandbox, line: str):
    log = user.home / "modules"
    code = (
        "import atexit, os, sys; from workbench.cli import main\n"
        f"os._exit = lambda _: open({str(log)!r}, 'w').write(' '.join(sys.modules)) and sys.exit()\n"
        "main.main([])"
    )
    env = {**user.env, "_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    subprocess.run([sys.executable, "-c", code], env={**env, "_ARGCOMPLETE_STDOUT_FILENAME": "/dev/null"}, check=True)
    loaded = {name.partition(".")[0] for name in log.read_text().split()}
    assert loaded.isdisjoint({"textual", "litellm", "pydantic", "msgspec", "rich", "asyncio", "sqlite3"})
    assert "workbench.engine" not in log.read_text()
    assert user.processes() == []


def test_unknown_shell_is_refused_with_those_that_are_known(sandbox: Sandbox):
    done = sandbox.command("completion", "csh")
    assert done.returncode == 2
    assert all(shell in done.stderr for shell in SHELLS)
