"""The rule that "always" would save for an action: exactly what was asked, and nothing where that is not safe."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from typing import Final

from workbench.security.places import within
from workbench.security.risk import Risk
from workbench.security.rules.patterns import escaped, is_address
from workbench.security.rules.rule import SHELL, Rule
from workbench.security.rules.subject import Subject
from workbench.security.rules.width import RUNS_ANY
from workbench.text import visible

_LONGEST: Final = 400
_EDITORS: Final = frozenset({"str_replace_editor", "edit_file"})
_NEVER: Final = frozenset(
    {"python_execute", "execute_ipython_cell", "browser", "delegate", "ask_human", "finish", "think"}
)
_MODULE = re.compile(r"(?:python|pypy)[\d.]*")
_CODE = re.compile(r"-{1,2}[a-zA-Z]*[ce][a-zA-Z]*(?:=.*)?|--?(?:eval|print|command|exec)(?:=.*)?|-", re.DOTALL)


def rule_for(subject: Subject, risk: Risk) -> Rule | None:
    """The narrow `allow` rule for this very action of that effective risk; None when it has to be asked each time."""
    if risk == "HIGH" or subject.tool in _NEVER:
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
    if not is_module and _runs_code(first.words):
        return None
    return Rule("allow", SHELL, escaped(shlex.join(first.words)))


def _runs_code(words: Sequence[str]) -> bool:
    """Whether an interpreter gets code in its words, or a program is there to run another."""
    name = words[0].rpartition("/")[2]
    name = name if name in RUNS_ANY else re.sub(r"[\d.]+\Z", "", name)
    if name not in RUNS_ANY:
        return False
    before = next((at for at, word in enumerate(words[1:], 1) if not word.startswith("-")), len(words))
    is_script = before < len(words) and "." in words[before]
    return not is_script or any(_CODE.fullmatch(word) for word in words[1:before])


def _for_call(subject: Subject) -> Rule | None:
    """A tool on the files it names, an editor only on those of the workspace; of the web all of the one host."""
    if not subject.paths:
        return None if subject.tool in _EDITORS else Rule("allow", subject.tool)
    (path, *more) = subject.paths
    if is_address(path) and not more:
        return Rule("allow", subject.tool, path=f"{'/'.join(path.split('/')[:3])}/**")
    if more or any(sign in path for sign in "*?'\"\\") or os.path.realpath(path) != path:
        return None
    is_inside = within(path, subject.workspace) and path != subject.workspace
    if subject.tool in _EDITORS and not is_inside:
        return None
    return Rule("allow", subject.tool, path=path[len(subject.workspace) + 1 :] if is_inside else path)
