"""The arguments of `ohw`: its commands, their options, and the flags of the table of settings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from workbench import __version__
from workbench.config.setting import Setting, declared
from workbench.config.table import Settings
from workbench.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    # `typing` itself costs a tenth of the start.
    from typing import NoReturn

_HELP = "A terminal workbench where you and a coding agent work on one folder."
_COMMANDS = {
    "demo": "watch a scripted agent fix a bug in a small project; needs no model",
    "run": "let the agent work on PROMPT without a screen",
    "sessions": "list the sessions; `repair` saves what can be read of a damaged one",
    "resume": "go on with a session",
    "export": "write a session as Markdown, HTML, JSON lines, a picture or a recording",
    "import": "bring a session back from JSON lines",
    "models": "list the models there are to use; `test` calls one",
    "tools": "list the tools the agent has",
    "mcp": "list MCP servers; `add`, `test`, `login`, `logout`, `changes`, `approve`, `remove` one",
    "openapi": "list OpenAPI documents; `changes` shows what differs in one, `approve` agrees to it",
    "risk": "rate commands as they are rated before they run; they are not run",
    "rules": "list the rules that allow, ask and deny; `test` tries commands on them",
    "restore": "bring back what a command deleted, or any path of any version",
    "config": "list every setting with its value and where it comes from",
    "locate": "show where settings, sessions and logs are",
}
_FORMS = {
    "markdown": "a transcript for issues and notes",
    "html": "a transcript as one page for a browser, with --at under a picture of the screen",
    "jsonl": "every event; `ohw import` reads it",
    "svg": "a picture of the screen",
    "cast": "a recording of the screen (asciicast 2)",
}
_EPILOG = "commands:\n" + "\n".join(f"  ohw {name:<10}{text}" for name, text in _COMMANDS.items())
_EPILOG += "\n\n`ohw -- demo` sends the word itself. `ohw COMMAND --help` says more about a command."
_MCP = ("list", "add", "test", "login", "logout", "changes", "approve", "remove")
_WITH_VALUE = frozenset(["--workspace", "--home", "--tool", "--path", "--env", "--header", "--type"])
"""Options that take a value, beside those of the settings."""


def parse(words: list[str]) -> tuple[str, argparse.Namespace]:
    """Return the command, empty for none, and its arguments. Raises UsageError, and SystemExit after `--help`."""
    position = _command_at(words)
    command = words.pop(position) if position is not None else ""
    return command, _parser(command).parse_args(words)


def _command_at(words: Sequence[str]) -> int | None:
    """Where the name of a command stands: the first word that is neither an option nor its value."""
    skip, with_value = False, _WITH_VALUE.union(each.flag for each in _flags())
    for at, word in enumerate(words):
        if word == "--":
            return None
        if skip or word.startswith("-"):
            skip = not skip and word in with_value
            continue
        return at if word in _COMMANDS else None
    return None


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def _parser(command: str) -> _Parser:
    shape = argparse.RawDescriptionHelpFormatter
    if not command:
        parser = _Parser("ohw", description=_HELP, epilog=_EPILOG, formatter_class=shape, allow_abbrev=False)
        parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="what to begin with")
        parser.add_argument("--version", action="version", version=f"ohw {__version__}")
    else:
        parser = _Parser(f"ohw {command}", description=_COMMANDS[command], allow_abbrev=False)
        if command in _ARGUMENTS_OF:
            _ARGUMENTS_OF[command](parser)
        else:
            _add_arguments(parser, command)
    _add_options(parser)
    if command in ("", "demo", "resume"):
        parser.add_argument("--plain", action="store_true", help="line by line: for screen readers, simple terminals")
    return parser


def _add_arguments(parser: _Parser, command: str) -> None:
    if command in ("resume", "export", "import"):
        _add_session(parser, command)
    elif command == "run":
        parser.add_argument("prompt", metavar="PROMPT", help="what to do; `-` reads it from stdin")
        parser.add_argument("--json", action="store_true", help="events as JSON lines on stdout")
    elif command == "models":
        parser.add_argument("action", nargs="?", choices=["test"], help="make one real call")
        parser.add_argument("name", nargs="?", metavar="NAME", help="of which model (the one that is set)")
    elif command == "risk":
        parser.add_argument("commands", nargs="*", metavar="COMMAND", help="without one JSON lines are read from stdin")
        parser.add_argument("--home", metavar="DIR", help="the home folder to assume (yours)")
    elif command == "restore":
        parser.add_argument("id", nargs="?", metavar="ID", help="a copy or a version; without one copies are listed")
        parser.add_argument("paths", nargs="*", metavar="PATH", help="only these files and directories")
        parser.add_argument("--versions", action="store_true", help="list the versions of the directory")
        parser.add_argument("--force", action="store_true", help="overwrite files that hold something else now")
    elif command == "rules":
        parser.add_argument("action", nargs="?", choices=["test"], help="say what would happen to commands")
        parser.add_argument("--tool", metavar="NAME", help="try a call of this tool instead (str_replace_editor)")
        parser.add_argument("--path", metavar="PATH", help="on this file or folder")
        parser.add_argument(
            "commands", nargs="*", metavar="COMMAND", help="without one they are read from stdin, a line each"
        )
    elif command == "tools":
        parser.add_argument("--json", action="store_true", help="the whole schemas as JSON")
        parser.add_argument("--all", action="store_true", help="as JSON also those that were not read, by their names")
        parser.add_argument("--mcp", action="store_true", help="start the MCP servers and ask them for theirs")


def _add_mcp(parser: _Parser) -> None:
    parser.add_argument("--env", metavar="NAME=VALUE", action="append", help="what a new server gets (before its NAME)")
    parser.add_argument("--header", metavar="NAME:VALUE", action="append", help="what goes with each request")
    parser.add_argument("--type", choices=["http", "sse"], help="how a new server is reached by its address (http)")
    parser.add_argument("action", nargs="?", choices=_MCP, help="(list)")
    parser.add_argument("--browser", action="store_true", help="open the address of a sign-in in your browser")
    parser.add_argument("name", nargs="?", metavar="NAME", help="of the server")
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="COMMAND", help="its command, or its address; of changes, their hash"
    )


def _add_openapi(parser: _Parser) -> None:
    parser.add_argument("action", nargs="?", choices=["list", "changes", "approve"], help="(list)")
    parser.add_argument("name", nargs="?", metavar="NAME", help="of the document")
    parser.add_argument("hash", nargs="?", default="", metavar="HASH", help="of the change that is approved")


def _add_sessions(parser: _Parser) -> None:
    parser.add_argument("action", nargs="?", choices=["repair"], help="save what can be read of a damaged one")
    parser.add_argument("id", nargs="?", metavar="ID", help="which; without one all that are damaged")


_ARGUMENTS_OF = {"mcp": _add_mcp, "openapi": _add_openapi, "sessions": _add_sessions}


def _add_session(parser: _Parser, command: str) -> None:
    if command == "resume":
        parser.add_argument("id", nargs="?", metavar="ID", help="the session, or how its id begins")
        parser.add_argument("--last", action="store_true", help="the session used last, in whatever folder")
    elif command == "export":
        _add_export(parser)
    else:
        parser.add_argument("file", metavar="FILE", help="an export as JSON lines; `-` reads it from stdin")


def _add_export(parser: _Parser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="the session, or how its id begins (the last one here)")
    forms = parser.add_mutually_exclusive_group()
    for form, what in _FORMS.items():
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=what)
    parser.add_argument("--at", metavar="SEQ", help="as it was at that event (the last one)")
    parser.add_argument("--size", metavar="CxR", default="120x40", help="columns and rows of pictures (120x40)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (the terminal); its end names the form")


def _flags() -> list[Setting]:
    """Return the settings that have a flag."""
    return [each for each in declared(Settings).values() if each.flag]


def _add_options(parser: _Parser) -> None:
    group = parser.add_argument_group("settings")
    group.add_argument("--workspace", metavar="DIR", help="the directory to work in (default: the current one)")
    for each in _flags():
        about = each.about.split(". ")[0].removesuffix(".")
        if about[1:2].islower():
            about = about[0].lower() + about[1:]
        group.add_argument(each.flag, metavar=each.metavar, help=about.replace("%", "%%"))
