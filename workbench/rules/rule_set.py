"""The rules of a session, and the choice of the one that decides an action: `deny`, then `ask`, then `allow`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Part
from workbench.risk.executed_files.scripts import Script, scripts_run
from workbench.risk.paths import PathContext, words
from workbench.rules.indirect_paths import base_of, linked_by, reaches, takes_in
from workbench.rules.rule import Rule, RuleError, Source, near, parse_rule
from workbench.rules.rule_files import RuleFile, read_rules
from workbench.rules.rule_matching import covers, is_at, is_in_force, is_opaque, names, runs, touches
from workbench.rules.subject import EDITS, NETWORK, SANDBOX_WRITE, Subject
from workbench.rules.substitute_programs import library_for
from workbench.rules.whole_trees import is_of_sources
from workbench.text import visible_path
from workbench.tools.execute_bash import NAME as SHELL

RUNS_SCRIPT: Final = "runs `{path}`, which contains what `{rule}` names"
DRIVES: Final = "uses `{library}`, which may do what `{rule}` names"
_INTERPRETER: Final = lazy_pattern(
    r"(?:python|pypy|ipython|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript|julia|groovy|jshell|irb)[\d.]*"
)
_HANDLES: Final = words(
    "sed gsed vi vim nvim nano emacs code subl git cp mv rm ln chmod chown touch install tee dd patch tar zip unzip"
    " rsync scp rename truncate sort curl wget docker kubectl"
)
"""Programs that edit, move or send files, and do not execute those that they name."""
_CODE: Final = frozenset({"python_execute", "execute_ipython_cell"})


def ruled_script(rules: Sequence[Rule], subject: Subject) -> Rule | None:
    """Return an `ask` rule if the action runs a script that contains a command or path of an `ask` or `deny` rule;
    otherwise None.

    Even a `deny` rule only asks here, because it is not certain what a script does before it runs.
    """
    rules = [rule for rule in rules if _may_count(rule, subject)]
    if not rules or not (subject.commands or subject.tool in _CODE):
        return None
    code = str(subject.arguments.get("code", ""))
    inline = next(filter(None, (_driven(rule, text) for text in _inline(subject, code) for rule in rules)), None)
    if inline is not None:
        return inline
    runs_code = not subject.is_shell or any(map(_may_run_files, subject.commands))
    for script in scripts_run(subject.parts, subject.workspace, subject.command, code):
        held = next((rule for rule in rules if _holds(rule, script, subject)), None)
        is_program = runs_code and not script.is_shell
        driven = next(filter(None, (_driven(rule, script.text) for rule in rules if is_program)), None)
        if driven is not None:
            return driven
        if held is not None:
            name = script.path.removeprefix(f"{subject.workspace}/")
            return replace(held, verdict="ask", reason=RUNS_SCRIPT.format(path=visible_path(name), rule=held.text))
    return None


def _may_run_files(part: Part) -> bool:
    """Return whether a command may execute files that it names, and does not only check, edit or move them."""
    name = part.words[0].rpartition("/")[2] if part.words else ""
    return part.risk != "LOW" and bool(name) and name not in _HANDLES and not is_of_sources(part)


def _inline(subject: Subject, code: str) -> Iterator[str]:
    """Yield the code in the call's arguments, and the words and inputs of interpreters that it starts."""
    yield code
    for part in subject.commands:
        if part.words and _INTERPRETER.fullmatch(part.words[0].rpartition("/")[2]):
            yield " ".join(part.words)
            yield part.input


def _driven(rule: Rule, code: str) -> Rule | None:
    """Return an `ask` rule if the code imports a library that does what the rule's program does; otherwise None."""
    library = library_for(rule.command.partition(" ")[0], code) if code and rule.command else ""
    if not library:
        return None
    return replace(rule, verdict="ask", reason=DRIVES.format(library=library, rule=rule.text))


def _may_count(rule: Rule, subject: Subject) -> bool:
    return rule.verdict != "allow" and bool(rule.command or rule.path) and is_in_force(rule, subject)


def _holds(rule: Rule, script: Script, subject: Subject) -> bool:
    parts = _parts(script.text, subject.workspace, subject.home) if script.is_shell else ()
    if rule.command:
        # Scripts that are too long for the analysis are searched as text, like programs in other languages.
        is_read = parts and all(part.words or part.risk != "HIGH" for part in parts)
        literal = None if is_read else _literal_command(rule.command).search(script.text)
        return literal is not None or any(runs(rule, part) for part in parts)
    is_of_shell = not rule.tool or rule.tool == SHELL
    if not is_of_shell or not parts:
        return False
    line = replace(subject, tool=SHELL, arguments={}, parts=tuple(parts))
    return any(is_at(rule, path, subject) for part in parts for path in part.paths) or takes_in(rule, line)


@lru_cache(64)
def _parts(text: str, workspace: str, home: str) -> tuple[Part, ...]:
    from workbench.risk.commands import assess_command  # defers loading the parser

    return assess_command(text, PathContext(workspace, home)).parts


@lru_cache(64)
def _literal_command(pattern: str) -> re.Pattern[str]:
    """Return a regex for the words of a command pattern before its first star, also when written as a list or
    quoted.
    """
    words = pattern.split("*", 1)[0].split()
    return re.compile(r"(?<![\w-])" + r"[\s'\",\[\]()]{1,12}".join(map(re.escape, words)) + r"(?![\w-])")


WORKSPACE_FILE: Final = ".ohw/rules.toml"
BROKEN: Final = "a rule file has errors, so every action that changes something needs approval"
REACHES: Final = "may reach what `{rule}` names: it includes a directory above, or files by a pattern"
LINKED: Final = "opens another name (a hard link) of a file that `{rule}` names"
UNSURE: Final = "the name of a command is not known, so no rule can be applied to it"


class RuleSet:
    """The rules in the user's file and in the workspace's file; a file is read again when it has changed."""

    def __init__(
        self,
        user_file: Path | None = None,
        workspace: Path | None = None,
        *,
        trusted: bool = False,
        confirm_unknown: bool = True,
        reader: str = "",
        only_reads_with: Callable[[str], bool] = lambda tool: False,
    ) -> None:
        """The workspace's file is used only if the workspace is `trusted`.

        `reader` is the kind of sub-agent whose actions are decided; `only_reads_with` returns whether it may only read
        with a tool.
        """
        self._reader, self._only_reads_with = reader, only_reads_with
        self.confirm_unknown = confirm_unknown
        """Whether modes that ask by risk also ask about actions of unknown risk."""
        self.workspace = str(workspace or "")
        self._files: dict[Source, Path] = {}
        if user_file is not None:
            self._files["person"] = user_file
        if workspace is not None and trusted:
            self._files["folder"] = workspace / WORKSPACE_FILE
        self._read: dict[Source, tuple[object, RuleFile]] = {}

    @property
    def user_file(self) -> Path | None:
        """The file with the user's own rules."""
        return self._files.get("person")

    @property
    def faults(self) -> tuple[str, ...]:
        """The errors in the files, one line each."""
        return tuple(line for source in self._files for line in self._file(source).faults)

    @property
    def is_broken(self) -> bool:
        """Whether a rule that could not be read may be an `ask` or `deny` rule."""
        return any(self._file(source).may_lack_rules for source in self._files)

    def reader_with(self, tool: str) -> str:
        """Return the kind of sub-agent if it may only read with the tool; otherwise an empty string."""
        return self._reader if self._reader and self._only_reads_with(tool) else ""

    def unknown_tools(self, tools: Iterable[str]) -> tuple[str, ...]:
        """Return one line for each rule in the files whose tool is not among `tools`."""
        tool_names = sorted(tools)
        return tuple(
            f"{self._files[rule.source]}: rule {rule.number} ({rule.verdict}): there is no tool named {rule.tool!r}"
            f"{near(rule.tool, tool_names)}"
            for rule in self.rules()
            if rule.tool not in ("", EDITS, NETWORK, SANDBOX_WRITE)
            and not any(fnmatchcase(name, each) for name in tool_names for each in _names_of(rule.tool))
        )

    def rules(self, session: Iterable[str] = ()) -> tuple[Rule, ...]:
        """Return the current rules in the files, followed by the session's rules, which are given as lines."""
        selected = [rule for source in self._files for rule in self._file(source).rules]
        return (*selected, *session_rules(session))

    def _file(self, source: Source) -> RuleFile:
        path = self._files[source]
        now = _signature(path)
        cached = self._read.get(source)
        if cached is None or cached[0] != now:
            cached = self._read[source] = (now, read_rules(path, source))
        return cached[1]


def _names_of(tool: str) -> tuple[str, ...]:
    """Return the names that a model may use for a rule's tool; for `SERVER/TOOL`, these are `TOOL` and
    `SERVER_TOOL`.
    """
    server, _, name = tool.rpartition("/")
    return (name, f"{server}_{name}") if server else (tool,)


def session_rules(lines: Iterable[str]) -> list[Rule]:
    """Parse the rules in a session's log, skipping unreadable ones, which can only be `allow` rules or were
    reported.
    """
    result: list[Rule] = []
    for number, line in enumerate(lines, 1):
        try:
            result.append(replace(parse_rule(line), number=number))
        except RuleError:
            continue
    return result


def deciding(rules: Sequence[Rule], subject: Subject) -> Rule | None:
    """Return the rule that decides the action: the first matching `deny`, else `ask`, else an `allow` that covers it.

    If the action may only possibly do what a `deny` or `ask` rule names, the result is an `ask` rule. None if no rule
    applies.
    """
    for verdict in ("deny", "ask"):
        result = next((rule for rule in rules if rule.verdict == verdict and touches(rule, subject)), None)
        if result is not None:
            return result
        linked = linked_by((rule for rule in rules if rule.verdict == verdict), subject)
        if linked is not None:
            return replace(linked, reason=LINKED.format(rule=linked.text))
    above = next((rule for rule in rules if rule.verdict != "allow" and reaches(rule, subject)), None)
    if above is not None:
        return replace(above, verdict="ask", reason=REACHES.format(rule=above.text))
    if is_opaque(rules, subject):
        return Rule("ask", subject.tool, reason=UNSURE)
    held = ruled_script(rules, subject)
    if held is not None:
        return held
    return covers(rules, subject)


def guarded_by(rules: Sequence[Rule], subject: Subject) -> str:
    """Return the first protected path that the action changes without an `allow` rule of the user's; empty if there is
    none.

    Such a rule must name a path whose literal part is itself protected or is a file with several hard links; a rule for
    a whole project is not enough.
    """
    roots = PathContext(subject.workspace, subject.home)
    lifting = [
        rule
        for rule in rules
        if rule.verdict == "allow" and rule.path and not rule.command and rule.source != "folder"
        if roots.protects(base := base_of(rule.path, subject)) or roots.shares(base)
    ]
    lifting = [rule for rule in lifting if subject.is_allowed_tool(rule.tool)]
    return next((path for path in subject.protected if not any(names(rule, path, subject) for rule in lifting)), "")


def _signature(path: Path) -> object:
    try:
        result = os.stat(path)  # noqa: PTH116 - asked for each action
    except OSError as error:
        return error.errno
    return result.st_mtime_ns, result.st_size, result.st_ino
