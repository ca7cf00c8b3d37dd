"""`ohw man` shows a manual page with everything that the command line has."""

import re
import shutil
import subprocess
import sys

import pexpect
import pytest

from tests.sandbox import Sandbox
from tests.system_packages import found_or_installed
from workbench.cli.arguments import parser_of
from workbench.cli.command_help import COMMANDS, SUBCOMMANDS
from workbench.config.setting_kinds import declared
from workbench.config.settings import Settings


@pytest.fixture
def viewer() -> str:
    return found_or_installed(lambda: shutil.which("man"), "man-db")


@pytest.fixture
def rendered(viewer: str, sandbox: Sandbox) -> str:
    """The page as man prints it in 200 columns; a warning about its source fails."""
    page = sandbox.home / "ohw.1"
    page.write_text(sandbox.command("man").stdout)
    env = {**sandbox.env, "MANWIDTH": "200", "MANPAGER": "cat", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-ww"}
    done = subprocess.run([viewer, "--warnings=w", str(page)], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_page_has_every_command_option_and_variable(rendered: str):
    words = set(re.findall(r"[\w-]+", rendered))
    for command in ("", *COMMANDS, *SUBCOMMANDS):
        assert not command or f"ohw {command}\n" in rendered
        options = {option for action in parser_of(command)._actions for option in action.option_strings}
        assert options - words <= {"-h", "--help"}, command
    assert {each.variable for each in declared(Settings).values() if each.variable} <= words


def test_page_has_the_sections_of_a_manual_page(rendered: str):
    sections = re.findall(r"^([A-Z][A-Z ]+)$", rendered, re.MULTILINE)
    assert sections == [
        *("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SETTINGS", "COMMANDS", "ENVIRONMENT", "FILES", "EXIT STATUS")
    ]


def test_what_the_help_says_is_printed_as_it_is(rendered: str):
    text = " ".join(rendered.split())
    assert "HTTP header for each request to a new server" in text
    assert "~/.config/ohw/settings.toml" in text
    assert "environment variable for a new server (before its NAME)" in text


def test_installed_page_is_found_by_its_name(viewer: str, sandbox: Sandbox):
    directory = sandbox.home / ".local/share/man/man1"
    directory.mkdir(parents=True)
    (directory / "ohw.1").write_text(sandbox.command("man").stdout)
    env = {**sandbox.env, "MANPATH": str(directory.parent), "MANPAGER": "cat"}
    done = subprocess.run([viewer, "ohw"], env=env, capture_output=True, text=True, timeout=60)
    assert "work with a coding agent" in done.stdout


def test_on_a_terminal_it_opens_in_man(viewer: str, sandbox: Sandbox):
    env = {**sandbox.env, "MANPAGER": "cat", "TERM": "xterm"}
    words = ["-m", "workbench", "man"]
    terminal = pexpect.spawn(
        sys.executable, words, env=env, cwd=str(sandbox.project), dimensions=(40, 100), encoding="utf-8", timeout=60
    )
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert ".SH" not in terminal.before
    assert "EXIT STATUS" in re.sub(r".\x08", "", terminal.before)
