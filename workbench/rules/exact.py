"""The rule that "always" would save for an action: exactly what was asked, and nothing where that is not safe."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from workbench.files.anchored import real_path
from workbench.protocol.risk import Risk
from workbench.risk.paths import within
from workbench.rules.patterns import escaped, is_address
from workbench.rules.rule import Rule
from workbench.rules.subject import Subject
from workbench.rules.width import RUNS_ANY
from workbench.text import visible
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.manifest import ToolKind, kind_of

_LONGEST: Final = 400
_NEVER: Final[frozenset[ToolKind]] = frozenset({"code", "pages", "subagent", "question", "final", "thought"})
"""Kinds of tools that are asked about each time: what they do is in the arguments, or nothing is to be allowed."""
_MODULE = re.compile(r"(?:python|pypy)[\d.]*")
_PLAIN_TOOL: Final = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_RUNS: Final = frozenset({"exec", "x", "dlx", "run-script"})


def rule_for(subject: Subject, risk: Risk) -> Rule | None:
    """The narrow `allow` rule for this very action of that effective risk; None when it has to be asked each time."""
    if risk == "HIGH" or kind_of(subject.tool) in _NEVER:
        return None
    rule = _for_command(subject) if subject.is_shell else _for_call(subject)
    return rule if rule and len(rule.text) <= _LONGEST and visible(rule.text, lines=False) == rule.text else None


def _for_command(subject: Subject) -> Rule | None:
    """A single plain command; `python -m NAME` may run a program that the analysis looks into."""
    first, *rest = subject.parts or (None,)
    if first is None or not first.plain or first.depth or subject.arguments.get("is_input"):
        return None
    is_module = bool(_MODULE.fullmatch(first.words[0])) and first.words[1:2] == ("-m",)
    if rest and not (is_module and all(part.depth for part in rest)):
        return None
    if (is_module and not rest) or (not is_module and _runs_code(first.words)):
        return None  # a module that the analysis does not look into is a script too
    return Rule("allow", SHELL, escaped(shlex.join(first.words)))


def _runs_code(words: Sequence[str]) -> bool:
    """Whether it runs a script or another program: what stands in that may be another thing each time."""
    name = words[0].rpartition("/")[2]
    plain = re.sub(r"[\d.]+\Z", "", name)
    return "/" in words[0] or name in RUNS_ANY or plain in RUNS_ANY or bool(_RUNS.intersection(words[1:3]))


def _for_call(subject: Subject) -> Rule | None:
    """A tool on the files it names, an editor only on those of the workspace; of the web all of the one host.

    A tool of a server goes by the name of the server too.
    """
    tool = subject.server_tool or subject.tool
    if subject.server_tool and not _PLAIN_TOOL.fullmatch(tool):
        return None
    if not subject.paths:
        return None if kind_of(subject.tool) == "edit" else Rule("allow", tool)
    (path, *more) = subject.paths
    if is_address(path) and not more:
        return Rule("allow", tool, path=f"{'/'.join(path.split('/')[:3])}/**")
    if more or any(sign in path for sign in "*?'\"\\") or real_path(path) != path:
        return None
    is_inside = within(path, subject.workspace) and path != subject.workspace
    if kind_of(subject.tool) == "edit" and not is_inside:
        return None
    return Rule("allow", tool, path=path[len(subject.workspace) + 1 :] if is_inside else path)
