"""Rules held against the scripts that an action runs: a `./push.sh` that holds `git push`; used by `book`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from workbench.risk.assessment import Part
from workbench.risk.executed.scripts import Script, scripts_run
from workbench.risk.paths import Places
from workbench.rules.matching import is_at, is_in_force, runs
from workbench.rules.rule import Rule
from workbench.rules.subject import Subject
from workbench.tools.execute_bash import NAME as SHELL

RUNS_SCRIPT: Final = "runs `{path}`, which holds what `{rule}` names"
_CODE: Final = frozenset({"python_execute", "execute_ipython_cell"})


def ruled_script(rules: Sequence[Rule], subject: Subject) -> Rule | None:
    """Return an `ask` rule with its reason when a script that the action runs holds what a rule denies or asks about.

    What a script does is never certain before it runs, so a `deny` asks here too.
    """
    rules = [rule for rule in rules if _may_count(rule, subject)]
    if not rules or not (subject.is_shell or subject.tool in _CODE):
        return None
    code = str(subject.arguments.get("code", ""))
    for script in scripts_run(subject.parts, subject.workspace, subject.command, code):
        held = next((rule for rule in rules if _holds(rule, script, subject)), None)
        if held is not None:
            name = script.path.removeprefix(f"{subject.workspace}/")
            return replace(held, verdict="ask", reason=RUNS_SCRIPT.format(path=name, rule=held.text))
    return None


def _may_count(rule: Rule, subject: Subject) -> bool:
    return rule.verdict != "allow" and bool(rule.command or rule.path) and is_in_force(rule, subject)


def _holds(rule: Rule, script: Script, subject: Subject) -> bool:
    parts = _parts(script.text, subject.workspace, subject.home) if script.is_shell else ()
    if rule.command:
        # what is too long for the analysis is searched as text, like programs in other languages
        is_read = parts and all(part.words or part.risk != "HIGH" for part in parts)
        literal = None if is_read else _literal_command(rule.command).search(script.text)
        return literal is not None or any(runs(rule, part) for part in parts)
    is_of_shell = not rule.tool or rule.tool == SHELL
    return is_of_shell and any(is_at(rule, path, subject) for part in parts for path in part.paths)


@lru_cache(64)
def _parts(text: str, workspace: str, home: str) -> tuple[Part, ...]:
    from workbench.risk.shell.scan import assess_command  # the parser is not loaded before it is needed

    return assess_command(text, Places(workspace, home)).parts


@lru_cache(64)
def _literal_command(pattern: str) -> re.Pattern[str]:
    """The words of a rule's pattern up to its first star, as they may stand in a program: in a list or a text."""
    words = pattern.split("*", 1)[0].split()
    return re.compile(r"(?<![\w-])" + r"[\s'\",\[\]()]{1,12}".join(map(re.escape, words)) + r"(?![\w-])")
