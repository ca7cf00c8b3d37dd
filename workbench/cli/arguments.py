"""Parses the arguments of `ohw`: the commands, their options, and the flags declared in the table of settings."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from workbench import __version__
from workbench.cli.batch_arguments import add_batch, add_batch_predictions, add_diff, add_race, add_report, add_watch
from workbench.cli.command_help import COMMANDS, FORMS, HIDDEN, SETTINGS_OF, SUBCOMMANDS
from workbench.config.setting_kinds import Setting, declared
from workbench.config.table import Settings
from workbench.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    # Importing `typing` would take a tenth of the start.
    from typing import NoReturn

_HELP = "A terminal workbench where you and a coding agent work in one directory."
_EPILOG = "commands:\n" + "\n".join(f"  ohw {name:<12}{text}" for name, text in COMMANDS.items())
_EPILOG += '\n\nUse `ohw -- demo` to send "demo" as a message. `ohw COMMAND --help` describes a command.'
SHELLS = ("bash", "zsh", "fish")
"""The shells that `ohw completion` supports."""
_MCP = ("list", "add", "test", "login", "logout", "changes", "approve", "remove")
_INTERMIXED = frozenset(
    ("batch", "batch diff", "batch report", "batch watch", "race", "rewind", "fork", "replay", "sandbox")
)
"""Commands whose options may be mixed with their positional arguments."""
_REMOTE = frozenset(("", "resume", "attach", "run", "demo"))
"""Commands that accept the URL of a directory on another machine, if only to say that they do not work there."""
_ALMOST = 0.8
"""The similarity, from 0 to 1, from which a word counts as a misspelled command."""
_WITH_VALUE = frozenset(
    (
        *("--workspace", "--home", "--tool", "--path", "--env", "--header", "--type", "--format", "--check", "--from"),
        *("--prompt", "--container-copy", "--patch", "--host", "--port", "--attempts", "--attempt", "--models"),
        *("--scheduler", "--max-parallel", "--rate", "--retry", "--output", "-o", "--setup", "--minutes", "--wait"),
    )
)
"""Options that take a value, besides the flags of settings."""


def parse(words: list[str]) -> tuple[str, argparse.Namespace]:
    """Remove the command from `words`; return it (empty if there is none) and the parsed arguments.

    A command of two words, such as `batch predictions`, is returned with a space between them.

    Raises UsageError if the arguments are invalid, and SystemExit after `--help` or `--version`.
    """
    span = command_span(words)
    command = " ".join(words[span])
    del words[span]
    url = _pop_url(words) if command in _REMOTE else ""
    parser = parser_of(command)
    arguments = parser.parse_intermixed_args(words) if command in _INTERMIXED else parser.parse_args(words)
    arguments.url = url
    if not command and "--" not in words:
        _check_misspelled(arguments.prompt or "")
    return command, arguments


def _pop_url(words: list[str]) -> str:
    """Remove the URL of a directory on another machine from `words` and return it; empty if there is none."""
    for index, word in enumerate(words):
        if word == "--":
            break
        if word.startswith("ssh://") and (index == 0 or words[index - 1] not in _WITH_VALUE):
            return words.pop(index)
    return ""


def _check_misspelled(prompt: str) -> None:
    """Raise UsageError if a message consists of one word that is almost the name of a command."""
    if prompt and " " not in prompt:
        from workbench.suggest import nearest

        meant = nearest(prompt, COMMANDS, _ALMOST)
        if meant:
            raise UsageError(
                f"No such command: {prompt}. Did you mean `ohw {meant}`? To send it as a message: `ohw -- {prompt}`"
            )


def command_span(words: Sequence[str]) -> slice:
    """Return where the command is in `words`: one word, two if the next one makes it a sub-command, or none.

    The command is the first word that is neither an option, nor an option's value, nor a URL, provided that it is the
    name of a command.
    """
    skip, with_value = False, _WITH_VALUE.union(each.flag for each in settings_with_flags())
    for index, word in enumerate(words):
        if word == "--":
            break
        if skip or word.startswith("-"):
            skip = not skip and word in with_value
            continue
        if word.startswith("ssh://"):
            continue
        if word in COMMANDS or word in HIDDEN:
            return slice(index, index + 1 + (" ".join(words[index : index + 2]) in SUBCOMMANDS))
        break
    return slice(0, 0)


_RISK_LINES = """each line from stdin is one action:
  {"kind": "bash", "input": "rm -rf build"}
  {"kind": "typed", "input": {"program": "psql shop", "text": "drop table users;"}}
  {"kind": "python", "input": "import os"}        (also "cell", for a notebook)
  {"kind": "file", "input": {"op": "write", "path": "/srv/app/src/a.py"}}
each answer is one line: risk, reasons, and segments with the rating of each part

`typed` is text typed into a running program: a shell, a prompt, a client."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # Options of the command that is to run inside are not those of ohw.
        is_commands = self.prog == "ohw sandbox" and message.startswith("unrecognized")
        advice = "put -- before the command: `ohw sandbox run -- COMMAND`"
        raise UsageError(f"{message}; {advice if is_commands else f'see `{self.prog} --help`'}")


def parser_of(command: str) -> _Parser:
    """Return the parser of a command; the empty command starts a session."""
    shape = argparse.RawDescriptionHelpFormatter
    if not command:
        parser = _Parser("ohw", description=_HELP, epilog=_EPILOG, formatter_class=shape, allow_abbrev=False)
        parser.usage = "ohw [ssh://[USER@]HOST[:PORT]/PATH] [PROMPT] [options]\n       ohw COMMAND [options]"
        parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="first message")
        parser.add_argument("--version", action="version", version=f"ohw {__version__}")
        _add_copy(parser)
    else:
        epilog = _epilog_of(command)
        parser = _Parser(
            f"ohw {command}",
            description=(COMMANDS | SUBCOMMANDS | HIDDEN)[command],
            epilog=epilog,
            formatter_class=shape if epilog else argparse.HelpFormatter,
            allow_abbrev=False,
        )
        if command in _ARGUMENTS_OF:
            _ARGUMENTS_OF[command](parser)
        else:
            _add_arguments(parser, command)
    _add_options(parser, command)
    if command in ("", "demo", "resume", "attach"):
        parser.add_argument("--plain", action="store_true", help="plain line output (screen readers, dumb terminals)")
    return parser


def _epilog_of(command: str) -> str | None:
    """Return what the help of a command ends with: its input, or its sub-commands."""
    if command == "risk":
        return _RISK_LINES
    lines = [f"  ohw {name:<16}{text}" for name, text in SUBCOMMANDS.items() if name.startswith(f"{command} ")]
    return "\n".join(["commands:", *lines]) if lines else None


def _add_arguments(parser: _Parser, command: str) -> None:
    if command in ("resume", "export", "import"):
        _add_session(parser, command)
    elif command in ("rewind", "fork", "replay"):
        _add_past(parser, command)
    elif command == "run":
        parser.add_argument("prompt", metavar="PROMPT", help="the task; `-` reads it from stdin")
        parser.add_argument("--json", action="store_true", help="print events as JSON lines")
        _add_copy(parser)
        parser.add_argument("--patch", metavar="FILE", help="with --container-copy: write the changes to this file")
    elif command == "models":
        parser.add_argument(
            "action", nargs="?", choices=["test", "forget"], help="make one real call of a model; delete a saved key"
        )
        parser.add_argument(
            "name", nargs="?", metavar="NAME", help="model to test (default: the current one); key to delete"
        )
        parser.add_argument("--key-stdin", action="store_true", help="test with the API key on standard input")
    elif command == "risk":
        parser.add_argument(
            "commands", nargs="*", metavar="COMMAND", help="commands to rate (default: JSON lines from stdin)"
        )
        parser.add_argument("--home", metavar="DIR", help="home directory to assume (default: yours)")
    elif command == "restore":
        parser.add_argument(
            "id", nargs="?", metavar="ID", help="copy or version to restore from (default: list the copies)"
        )
        parser.add_argument("paths", nargs="*", metavar="PATH", help="restore only these files and directories")
        parser.add_argument("--versions", action="store_true", help="list the versions of the directory")
        parser.add_argument("--force", action="store_true", help="overwrite files that have changed since")
    elif command == "tools":
        parser.add_argument("--json", action="store_true", help="print full schemas as JSON")
        parser.add_argument(
            "--all", action="store_true", help="include tools whose schema was not loaded, by name (with --json)"
        )
        parser.add_argument("--mcp", action="store_true", help="start the MCP servers and list their tools too")


def _add_copy(parser: _Parser) -> None:
    parser.add_argument(
        "--container-copy", metavar="DIR", help="work in a copy of this directory of the container's image"
    )


def _add_past(parser: _Parser, command: str) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="session (default: the last one of this directory)")
    if command == "rewind":
        parser.add_argument("event", nargs="?", type=int, metavar="EVENT", help="checkpoint (default: list them)")
        parser.add_argument("--only", choices=["conversation", "files"], help="move only one of both")
        parser.add_argument(
            "--overwrite",
            metavar="PATH",
            action="append",
            default=[],
            help="use the earlier version of this file, in which you changed the same lines as the agent (repeatable)",
        )
        parser.add_argument("--redo", action="store_true", help="undo the last rewind; again, the one before")
        parser.add_argument("--yes", action="store_true", help="do not ask")
    elif command == "replay":
        _add_replay(parser)
    else:
        parser.add_argument(
            "event",
            nargs="?",
            type=int,
            metavar="EVENT",
            help="checkpoint of `ohw rewind ID` (default: the end of the session)",
        )
        parser.add_argument("--at", type=int, metavar="EVENT", help="the same as EVENT")
        parser.add_argument(
            "--worktree",
            nargs="?",
            const="",
            metavar="DIR",
            help="copy the files of that event to a new git worktree (default: beside the directory) and work there",
        )
    parser.add_argument("--last", action="store_true", help="the last session of any directory")


def _add_replay(parser: _Parser) -> None:
    parser.add_argument("--until", type=int, metavar="EVENT", help="stop after this event (default: the last one)")
    parser.add_argument(
        "--from",
        dest="start",
        type=int,
        metavar="EVENT",
        help="continue from here in a fork with its own directory: from a checkpoint with --prompt TEXT or "
        "--model NAME, from an action that waited for approval with --approve or --reject NOTE",
    )
    parser.add_argument("--prompt", metavar="TEXT", help="with --from: the message to send there")
    parser.add_argument("--approve", action="store_true", help="with --from: approve the action that waited")
    parser.add_argument("--reject", metavar="NOTE", help="with --from: reject it, with this note to the agent")
    parser.add_argument("--keep-going", action="store_true", help="show all differences, not only the first")
    parser.add_argument(
        "--live", action="store_true", help="also run again what reaches outside: network, other paths, processes"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_mcp(parser: _Parser) -> None:
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", help="environment variable for a new server (before its NAME)"
    )
    parser.add_argument(
        "--header", metavar="NAME:VALUE", action="append", help="HTTP header for each request to a new server"
    )
    parser.add_argument("--type", choices=["http", "sse"], help="transport of a new server with a URL (default: http)")
    parser.add_argument("action", nargs="?", choices=_MCP, help="what to do (default: list)")
    parser.add_argument("--browser", action="store_true", help="open the sign-in page in your browser")
    parser.add_argument("name", nargs="?", metavar="NAME", help="server")
    parser.add_argument(
        "words",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="command or URL of a new server; for `approve` the hash of the changes",
    )


def _add_blame(parser: _Parser) -> None:
    parser.add_argument("file", metavar="FILE[:FROM-TO]", help="file of the directory, and the lines to show")
    parser.add_argument("--format", choices=["text", "json", "agent-trace"], default="text", help="output (text)")


def _add_openapi(parser: _Parser) -> None:
    parser.add_argument("action", nargs="?", choices=["list", "changes", "approve"], help="what to do (default: list)")
    parser.add_argument("name", nargs="?", metavar="NAME", help="document")
    parser.add_argument("hash", nargs="?", default="", metavar="HASH", help="hash of the change to approve")


def _add_sessions(parser: _Parser) -> None:
    parser.add_argument("action", nargs="?", choices=["repair"], help="recover what can be read of a damaged session")
    parser.add_argument("id", nargs="?", metavar="ID", help="session to repair (default: all damaged ones)")


def _add_compare(parser: _Parser) -> None:
    parser.add_argument("ids", nargs="+", metavar="ID", help="sessions; each is compared with the first one")
    parser.add_argument(
        "--check", metavar="COMMAND", help="run this in a scratch copy of the files that each session ends with"
    )
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def _count(text: str) -> int:
    """Parse an integer of at least 0, limited to 10**9. Raises argparse.ArgumentTypeError for anything else."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return min(int(text[:18]), 10**9)


def _add_engine(parser: _Parser) -> None:
    parser.add_argument("--stdio", action="store_true", required=True, help="speak with the screen over these streams")


def _add_attach(parser: _Parser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="session ID or unique prefix (default: the one that runs)")


def _add_serve(parser: _Parser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="session ID or unique prefix (default: a new session)")
    parser.add_argument(
        "--read-only", action="store_true", help="share a view of a running session, which controls nothing"
    )
    parser.add_argument("--host", metavar="HOST", default="127.0.0.1", help="address to listen on (default: loopback)")
    parser.add_argument(
        "--port", metavar="PORT", type=_count, default=8642, help="port to listen on (8642); 0 takes a free one"
    )


def _add_browser_tab(parser: _Parser) -> None:
    parser.add_argument("id", metavar="ID", help="session, which is started if there is none with this ID")
    parser.add_argument("--read-only", action="store_true", help="only show the session, which has to be running")


def _add_completion(parser: _Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell; the guide has the line for its startup file")


def _add_config(parser: _Parser) -> None:
    actions = ["list", "get", "set", "unset", "edit", "path"]
    parser.add_argument("action", nargs="?", choices=actions, help="what to do with the settings file (default: list)")
    parser.add_argument("name", nargs="?", metavar="NAME", help="setting, such as max_steps or terminal.bell")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="value to set; lists have commas")


def _add_decisions(parser: _Parser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="session ID or unique prefix (default: the last one here)")
    parser.add_argument("--all", action="store_true", help="decisions of all sessions")
    for name, choices, what in (
        ("by", ("you", "rule", "mode"), "those by you, by a rule or by the mode"),
        ("risk", ("low", "medium", "high", "unknown"), "actions of this risk"),
        ("verdict", ("allowed", "denied", "edited"), "decisions of this kind"),
    ):
        parser.add_argument(f"--{name}", type=str.lower, choices=choices, help=f"only {what}")
    parser.add_argument("--tool", metavar="NAME", help="only calls of tools with this in their name")
    parser.add_argument("--rule", metavar="TEXT", help="only those by, or asked by, a rule or mode with this text")
    parser.add_argument("--since", metavar="DATE", help="only those since then, such as 2026-11-30, yesterday or 12h")
    parser.add_argument("--words", metavar="WORDS", help="only those with these words, or terms as in /decisions")
    parser.add_argument("--limit", metavar="N", type=_count, help="at most this many")
    forms = parser.add_mutually_exclusive_group()
    for form, what in {"json": "JSON lines", "csv": "a table for spreadsheets", "md": "a Markdown table"}.items():
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=f"print {what}")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="output file; the extension selects the format (default: stdout)"
    )


def _add_stats(parser: _Parser) -> None:
    parser.add_argument(
        "--days", metavar="N", type=_count, default=30, help="days up to today; 0 for all (default: 30)"
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def _add_doctor(parser: _Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def _add_rules(parser: _Parser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["test", "try"],
        help="`test` shows what would happen to commands, `try` what rules would have done in all sessions",
    )
    parser.add_argument("--tool", metavar="NAME", help="test a call of this tool instead (default: str_replace_editor)")
    parser.add_argument("--path", metavar="PATH", help="file, directory or URL the call is about")
    parser.add_argument(
        "commands",
        nargs="*",
        metavar="COMMAND",
        help="commands to test (default: from stdin), or the rules to try",
    )


def _add_hooks(parser: _Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print the list as JSON lines")


def _add_sandbox(parser: _Parser) -> None:
    parser.add_argument("action", nargs="?", choices=["test", "run"], help="try to get out; run a command inside")
    parser.add_argument("program", nargs="*", metavar="COMMAND", help="the command and its arguments, after --")


def _add_update(parser: _Parser) -> None:
    parser.add_argument("--check", action="store_true", help="ask the package index for the newest version, once")


def _add_trust(parser: _Parser) -> None:
    parser.add_argument("action", nargs="?", choices=["list", "revoke"], help="what to do (default: list)")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="directories in which to revoke the trust")
    parser.add_argument("--all", action="store_true", help="revoke the trust in all directories")
    parser.add_argument("--json", action="store_true", help="print the list as JSON lines")


def _add_worktree(parser: _Parser) -> None:
    parser.add_argument("action", nargs="?", choices=["list", "remove"], help="what to do (default: list)")
    parser.add_argument("name", nargs="?", metavar="NAME", help="branch or directory of the worktree to remove")
    parser.add_argument("--force", action="store_true", help="remove it with what is only in it")


_ARGUMENTS_OF = {
    "attach": _add_attach,
    "batch": add_batch,
    "batch diff": add_diff,
    "batch predictions": add_batch_predictions,
    "batch report": add_report,
    "batch watch": add_watch,
    "blame": _add_blame,
    "browser-tab": _add_browser_tab,
    "completion": _add_completion,
    "config": _add_config,
    "compare": _add_compare,
    "decisions": _add_decisions,
    "doctor": _add_doctor,
    "engine": _add_engine,
    "hooks": _add_hooks,
    "mcp": _add_mcp,
    "openapi": _add_openapi,
    "race": add_race,
    "rules": _add_rules,
    "sessions": _add_sessions,
    "serve": _add_serve,
    "stats": _add_stats,
    "trust": _add_trust,
    "sandbox": _add_sandbox,
    "update": _add_update,
    "worktree": _add_worktree,
}


def _add_session(parser: _Parser, command: str) -> None:
    if command == "resume":
        parser.add_argument(
            "id", nargs="?", metavar="ID", help="session ID or unique prefix (default: the last one here)"
        )
        parser.add_argument("--last", action="store_true", help="most recent session in any directory")
    elif command == "export":
        _add_export(parser)
    else:
        parser.add_argument("file", metavar="FILE", help="export as JSON lines; `-` reads it from stdin")


def _add_export(parser: _Parser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="session ID, prefix or file (default: the last one here)")
    forms = parser.add_mutually_exclusive_group()
    for form, what in FORMS.items():
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=what)
    parser.add_argument("--at", metavar="SEQ", help="state of the session at this event (default: the last one)")
    parser.add_argument(
        "--size", metavar="CxR", default="120x40", help="columns and rows of pictures (default: 120x40)"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="output file; the extension selects the format (default: stdout)"
    )


def settings_with_flags() -> list[Setting]:
    """Return the settings that have a flag."""
    return [each for each in declared(Settings).values() if each.flag]


def _add_options(parser: _Parser, command: str) -> None:
    group = parser.add_argument_group("settings")
    group.add_argument("--workspace", metavar="DIR", help="the directory to work in (default: the current one)")
    for each in settings_with_flags():
        about = each.reference.split(". ")[0].removesuffix(".")
        if about[1:2].islower():
            about = about[0].lower() + about[1:]
        is_used = each.flag in SETTINGS_OF.get(command, (each.flag,))
        text = about.replace("%", "%%") if is_used else argparse.SUPPRESS
        group.add_argument(each.flag, metavar=each.metavar, help=text)
