"""Rules that may not be: `allow` for everything, or for programs that run whatever they are given; used on loading."""

from __future__ import annotations

import re
from typing import Final

from workbench.risk.paths import words
from workbench.rules.patterns import command_pattern, is_address
from workbench.rules.rule import Rule
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.manifest import ToolKind, kind_of

RUNS_ANY = words(
    "sh bash zsh dash ksh mksh ash fish csh tcsh rbash yash python python3 pypy pypy3 ipython perl ruby node nodejs "
    "php lua Rscript deno bun osascript julia pwsh groovy elixir tclsh expect awk gawk mawk eval exec source . "
    "command builtin env sudo doas su xargs parallel watch timeout nohup nice setsid time ssh trap find busybox "
    "script uvx npx"
)
"""Programs that run a command or code that stands in their words."""
_PROBES = ("-c x", "-e x", "x", "-", "-c 'x y'", "x -exec y", "A=b x")
_RUNS_CODE: Final[frozenset[ToolKind]] = frozenset({"code", "pages", "subagent"})


def too_wide(rule: Rule) -> str:
    """Why an `allow` rule is refused; empty for one that may be. `ask` and `deny` may be as wide as they like."""
    if rule.verdict != "allow":
        return ""
    if kind_of(rule.tool) in _RUNS_CODE:
        return f"{rule.tool} does whatever it is told, so it cannot be allowed as a whole"
    if "*" in rule.tool or "?" in rule.tool:
        return "allow needs the name of one tool"
    if rule.tool == SHELL and not rule.command:
        return "it would allow every command; say which with command"
    if rule.command:
        return _wide_command(rule.command)
    return "" if rule.tool and not rule.path else _wide_path(rule.path)


def _wide_command(command: str) -> str:
    name, _, rest = command.partition(" ")
    if not re.sub(r"[*?]", "", name) or "*" in name.replace("\\*", ""):
        return "it would allow any program; the name of the program is to be written out"
    program = name.rpartition("/")[2]
    if program not in RUNS_ANY and re.sub(r"[\d.]+\Z", "", program) not in RUNS_ANY:
        return ""
    pattern = command_pattern(command)
    if "*" in rest and any(pattern.fullmatch(f"{name} {probe}") for probe in _PROBES):
        return f"it would allow anything that {program} can run; write more of the command before the *"
    return ""


def _wide_path(path: str) -> str:
    if is_address(path):
        host = path.partition("://")[2].partition("/")[0]
        return "it would allow any address; write out the host" if "*" in host or "?" in host or not host else ""
    bare = path.rstrip("/")
    if not re.sub(r"[*?/.]", "", bare.removeprefix("~")):
        return "it would allow any file; write more of the path"
    return ""
