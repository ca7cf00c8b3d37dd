"""Rules for programs into which a user types commands: database clients, editors, debuggers, terminals, agents."""

from __future__ import annotations

import re
from itertools import pairwise

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.code import reaches_beyond_data
from workbench.risk.programs.interpreters import OTHER_SHELL
from workbench.risk.programs.rule import Rule, always, words
from workbench.risk.reason import RUNS_PIPED, RUNS_UNSEEN, UNKNOWN_COMMAND, Reason, Trait
from workbench.risk.shell.call import Call, Spec
from workbench.risk.word import UNKNOWN

_CLIENT_RUNS = lazy_pattern(r"(?:^|[;\n]|-\w*e|--execute[= ])\s*(?:system|pager|tee|source|edit)\s")


def _data_base(call: Call) -> None:
    call.raise_to("MEDIUM", "works on a database")
    if call.name in {"sqlite3", "duckdb"}:
        for word in call.options(Spec(values=words("-cmd -init -separator -newline -nullvalue -c -s -f")))[1][:1]:
            file = call.scan.absolute(word)
            call.raise_to(
                *(
                    call.scan.rating(file, "read")
                    if file is not None
                    else ("MEDIUM", Reason("a file only known at run time", Trait.UNCERTAIN))
                )
            )
    text = " ".join(word.text for word in call.words).casefold()
    if re.search(
        r"\b(?:drop|delete|truncate|update|alter|grant|revoke|attach|copy|load_file|into\s+outfile|vacuum\s+into)\b|\\!|\.shell|\.system",
        text,
    ):
        call.raise_to("HIGH", Reason("changes or deletes data, or runs a command", Trait.RUNS))
    if any(reaches_beyond_data(word.text) for word in call.words if not word.text.startswith("./")):
        call.raise_to("HIGH", Reason("runs a command, or reads or writes a file", Trait.RUNS))
    if call.name in {"mysql", "mariadb"} and _CLIENT_RUNS.search(text):
        call.raise_to("HIGH", Reason("changes or deletes data, or runs a command", Trait.RUNS))
    if call.piped or call.has_input:
        call.raise_to("HIGH", RUNS_PIPED)


_OWN_AGENT = words("demo run resume")
_OWN_CHANGES = words("delete remove rm rename approve test login")


def _agent(call: Call) -> None:
    if [word.text for word in call.words] in (["--version"], ["--help"], ["-v"], ["-h"], ["-V"]):
        call.raise_to("MEDIUM", "asks for its version")
        return
    first = call.words[0].text if call.words else ""
    asks = call.name == "ohw" and first in {"sessions", "locate", "tools", "risk", "models"}
    if asks and not _OWN_CHANGES.intersection(word.text for word in call.words):
        call.raise_to("MEDIUM", "asks the workbench")
    elif call.name == "ohw" and first not in _OWN_AGENT and not first.startswith("-"):
        call.raise_to("HIGH", Reason("changes what the workbench may do", Trait.RUNS))
    else:
        call.raise_to("HIGH", Reason("starts an agent unwatched", Trait.RUNS))


_EDITOR_FLAG = lazy_pattern(
    r"[+:]|-[a-zA-Z]*[cSu]\Z|-[eE]?s\Z|--cmd|--?(?:eval|execute|script|load|funcall)|-f\Z|-l\Z|-x\Z"
)
_EDITOR_RUNS = lazy_pattern(
    r"!|\b(?:so|source|py\w*|lua\w*|perl|ruby|call|exe\w*|system|terminal|e|edit|r|read|w|write)\b\s*\S"
)


def _editor(call: Call) -> None:
    call.apply(Spec("MEDIUM", "opens an editor", operands="write"))
    if call.name == "code" and any(word.text in {"tunnel", "serve-web"} for word in call.words[:1]):
        call.raise_to("HIGH", Reason("opens a port to other machines", Trait.RUNS))
    if any(_EDITOR_FLAG.match(word.text) for word in call.words) and call.name not in {"code", "subl", "nano"}:
        call.raise_to("HIGH", Reason("gives the editor commands to run", Trait.RUNS))
    if call.piped or (call.has_input and (call.stdin is None or _EDITOR_RUNS.search(call.stdin))):
        call.raise_to("HIGH", Reason("gives the editor commands to run", Trait.RUNS))


_SHOWS = lazy_pattern(r"(?:bt|backtrace|where|info|thread|frame|up|down|list|run|quit|set pagination|file)\b[^!;|]*\Z")
_TMUX_READS = words(
    "ls lsp lsc list-sessions list-panes list-windows capture-pane capturep has-session has info display-message"
)


def _gdb(call: Call) -> None:
    """Rate gdb: MEDIUM with `-batch` and commands that only print (it still runs the program), otherwise HIGH."""
    strings = [word.text for word in call.words]
    debugger_commands = [text for flag, text in pairwise(strings) if flag in {"-ex", "--ex", "-eval-command"}]
    if (
        {"-batch", "--batch"} & set(strings)
        and debugger_commands
        and all(_SHOWS.match(text) for text in debugger_commands)
        and "-p" not in strings
    ):
        call.raise_to("MEDIUM", "runs a program in a debugger")
    else:
        call.raise_to("HIGH", RUNS_UNSEEN)


def _tmux(call: Call) -> None:
    """Rate tmux; a format may contain `#(command)`, and a trailing semicolon starts another tmux command."""
    if any("#(" in word.text or UNKNOWN in word.text or word.text.endswith(";") for word in call.words):
        call.raise_to("HIGH", RUNS_UNSEEN)
    if not call.words or call.words[0].text not in _TMUX_READS:
        call.raise_to("HIGH", RUNS_UNSEEN)


def _cmd(call: Call) -> None:
    """Rate cmd: with `/` flags it is the Windows shell, otherwise some other program of that name."""
    is_shell = any(word.text.startswith("/") for word in call.words)
    call.raise_to(*(("HIGH", OTHER_SHELL) if is_shell else ("MEDIUM", UNKNOWN_COMMAND)))


RULES: dict[str, Rule] = {
    "gdb": _gdb,
    "tmux": _tmux,
    **dict.fromkeys(words("sqlite3 psql mysql mariadb duckdb sqlcmd clickhouse-client"), _data_base),
    **dict.fromkeys(
        words("ohw codex claude gemini aider opencode goose crush cursor-agent copilot amp qwen vibe openhands"),
        _agent,
    ),
    **dict.fromkeys(words("vi vim nvim ex view emacs nano ed code subl"), _editor),
    **always("HIGH", RUNS_UNSEEN, "screen lldb"),
    **always("HIGH", OTHER_SHELL, "powershell powershell.exe pwsh.exe cmd.exe"),
    "cmd": _cmd,
}
