"""`ohw man` shows the manual page, generated from the parsers of all commands and the table of settings."""

from __future__ import annotations

import sys
import tempfile
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from workbench import __version__
from workbench.cli.arguments import parser_of
from workbench.cli.command_help import COMMANDS, SUBCOMMANDS
from workbench.cli.common import workspace_of
from workbench.config.setting_kinds import declared
from workbench.config.table import Settings
from workbench.processes.spawn import find_program, run

_ABOUT = """\
Without a command, ohw opens a session in the current directory: the agent works, and asks before it runs what is
risky. With PROMPT it sends that as the first message. `ohw -- PROMPT` sends a message that is the name of a command."""
_FILES = {
    "~/.config/ohw/settings.toml": "the settings; `ohw config edit` opens them",
    "~/.config/ohw/rules.toml": "rules that allow, ask about or deny actions",
    "~/.local/share/ohw/sessions": "the sessions",
    "~/.local/state/ohw": "logs and reports of crashes",
}
_EXIT = {
    "0": "finished",
    "1": "an error, or an agent stuck in a loop",
    "2": "invalid command line or settings",
    "3": "`ohw run` stopped at a question",
    "4": "`ohw run` stopped at a limit",
    "130": "interrupted",
    "141": "the reader of the output is gone",
}


def man(arguments: Namespace) -> int:
    """Show the page with `man`; print its source if there is no `man`, or standard output is not a terminal."""
    page = "\n".join(_page()) + "\n"
    workspace = workspace_of(arguments)  # whose own programs are not used
    viewer = find_program("man") if sys.stdout.isatty() else None
    if viewer is None:
        sys.stdout.write(page)
        return 0
    with tempfile.TemporaryDirectory(prefix="ohw-man-") as directory:
        file = Path(directory, "ohw.1")
        file.write_text(page, encoding="utf-8")
        return run([viewer, str(file)], cwd=workspace, is_users=True).returncode


def _page() -> Iterator[str]:
    """Yield the lines of the page in the man(7) markup."""
    yield f'.TH OHW 1 "" "ohw {__version__}" "User Commands"'
    yield from (".SH NAME", r"ohw \- work with a coding agent in one directory", ".SH SYNOPSIS")
    yield from (".B ohw", r"[\fIPROMPT\fR] [\fIoptions\fR]", ".br", ".B ohw", r"\fICOMMAND\fR [\fIoptions\fR]")
    yield from (".SH DESCRIPTION", *map(_escaped, _ABOUT.splitlines()), ".SH OPTIONS")
    yield from _arguments(_own(parser_of("")))
    yield ".SH SETTINGS"
    yield "These apply to every command."
    yield "Most have a variable, which the command line overrides, and which overrides the file."
    yield from _arguments(_of_settings(parser_of("")))
    yield ".SH COMMANDS"
    for name, about in sorted((COMMANDS | SUBCOMMANDS).items(), key=lambda each: _order(each[0])):
        yield from (f".SS {_escaped(f'ohw {name}')}", f"{_escaped(about[0].upper() + about[1:])}.")
        yield from _arguments(_own(parser_of(name)))
    yield ".SH ENVIRONMENT"
    for each in declared(Settings).values():
        if each.variable:
            yield from _item(_escaped(each.variable), each.about)
    yield ".SH FILES"
    for path, about in _FILES.items():
        yield from _item(_escaped(path), about)
    yield ".SH EXIT STATUS"
    for code, about in _EXIT.items():
        yield from _item(code, about)


def _order(name: str) -> int:
    """Return the position of a command, which sub-commands share: sorting leaves them in their order behind it."""
    return list(COMMANDS).index(name.partition(" ")[0])


def _of_settings(parser: ArgumentParser) -> list[Action]:
    """Return the options in the group `settings`, which every parser has."""
    return [action for group in parser._action_groups if group.title == "settings" for action in group._group_actions]


def _own(parser: ArgumentParser) -> list[Action]:
    shared = _of_settings(parser)
    return [action for action in parser._actions if action not in shared and action.dest != "help"]


def _arguments(actions: list[Action]) -> Iterator[str]:
    for action in actions:
        value = "|".join(map(str, action.choices)) if action.choices else str(action.metavar or action.dest)
        names = ", ".join(rf"\fB{_escaped(name)}\fR" for name in action.option_strings)
        value = "" if action.nargs == 0 else rf"\fI{_escaped(value)}\fR"
        yield from _item(" ".join(part for part in (names, value) if part), (action.help or "").replace("%%", "%"))


def _item(term: str, about: str) -> Iterator[str]:
    yield from (".TP", term, _escaped(about) or r"\&")


def _escaped(text: str) -> str:
    """Return a line with escapes, so that troff prints it unchanged; backquotes are removed."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("~", r"\(ti").replace("^", r"\(ha").replace("`", "")
    return rf"\&{text}" if text.startswith((".", "'")) else text
