"""`ohw rules` lists the rules; `ohw rules test` shows what they and the mode decide about a command."""

from __future__ import annotations

import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

from workbench.cli.common import print_error, print_line, settings_of, workspace_of
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.errors import UsageError
from workbench.protocol.risk import Mode, effective
from workbench.risk import Assessment, RatingContext, assess
from workbench.risk.assessment import summed
from workbench.risk.read_only import only_looks
from workbench.rules.patterns import is_url
from workbench.rules.policy import edits_workspace, rule_on
from workbench.rules.protected_writes import unplaced_write
from workbench.rules.rule import Rule, RuleError, near, parse_rule
from workbench.rules.rule_files import checked, command_subject
from workbench.rules.rule_set import BROKEN, WORKSPACE_FILE, RuleSet, deciding, guarded_by
from workbench.rules.subject import Subject, subject_of
from workbench.text import visible
from workbench.tools.context import NoModel, ToolContext
from workbench.tools.registry import list_registered_tools
from workbench.tools.selection import select_tools
from workbench.tools.str_replace_editor import NAME as EDITOR
from workbench.tools.trust import is_trusted
from workbench.view.approval.rule_dry_run import report_lines, try_on_all

_NONE = "No rules yet. Write some to {file}, or answer an approval with `always`."
_DONE = {"allow": "runs", "ask": "is asked about", "deny": "is denied"}


def rules(arguments: Namespace) -> int:
    """List the rules, or test commands against them; return 1 if a rules file has problems."""
    where, settings = settings_of(arguments)
    workspace = workspace_of(arguments)
    page, faults = _page(where, settings, workspace)
    for line in faults:
        print_error(visible(line, lines=False))
    run = {"test": _trials, "try": _tried_on_all}.get(arguments.action or "")
    for text in run(where, settings, workspace, arguments) if run else (page,):
        if text:
            print_line(text)
    return 1 if faults else 0


def _trials(where: Locations, settings: Settings, workspace: Path, arguments: Namespace) -> Iterator[str]:
    if arguments.tool or arguments.path:
        return tried_call(where, settings, workspace, arguments.tool or EDITOR, arguments.path or "")
    commands = arguments.commands or (line.decode(errors="replace").rstrip("\n") for line in sys.stdin.buffer)
    return tried(where, settings, workspace, (line for line in commands if line.strip()))


def _tried_on_all(where: Locations, settings: Settings, workspace: Path, arguments: Namespace) -> Iterator[str]:
    """Yield lines about what each rule would have done in all sessions. Raises UsageError if a rule is invalid."""
    try:
        rules = [checked(parse_rule(text)) for text in _written_rules(arguments.commands)]
    except RuleError as error:
        raise UsageError(f"{error}; `ohw rules try 'allow $ pytest *'` tries one") from None
    for rule in rules:
        yield visible(rule.text, lines=False)
        yield from report_lines(try_on_all([rule], where, lambda _: None, lambda: False), most=20)


def _written_rules(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments if each is a complete rule; otherwise one rule, whose words the shell has split into
    arguments.
    """
    is_each = len(arguments) > 1 and all(re.match(r"(?:allow|ask|deny)\s+\S", text.strip()) for text in arguments)
    return arguments if is_each else [" ".join(arguments)]


def rule_set_of(where: Locations, settings: Settings, workspace: Path) -> RuleSet:
    """Return the rules that apply in this directory."""
    trusted = is_trusted(workspace, settings.trusted)
    return RuleSet(where.rules_file, workspace, trusted=trusted, confirm_unknown=settings.confirm_unknown)


def _page(where: Locations, settings: Settings, workspace: Path) -> tuple[str, Sequence[str]]:
    """Return the list of rules with their sources, and a line about each problem in the rules files."""
    rule_set = rule_set_of(where, settings, workspace)
    rules, faults = rule_set.rules(), (*rule_set.faults, *_unknown_tools(rule_set, where, settings, workspace))
    own = workspace / WORKSPACE_FILE
    is_ignored = own.exists() and not is_trusted(workspace, settings.trusted)
    end = [visible(f"The rules in {own} are ignored: the directory is not trusted.", lines=False)] if is_ignored else []
    if not rules:
        none = [] if faults else [_NONE.format(file=where.rules_file)]
        return "\n".join([*none, *end]), faults
    rows = [(visible(rule.text, lines=False), origin(rule, where.rules_file, own)) for rule in rules]
    width = min(60, max(len(text) for text, _ in rows))
    return "\n".join([*(f"{text:<{width}}  {source}" for text, source in rows), *end]), faults


def _unknown_tools(rule_set: RuleSet, where: Locations, settings: Settings, workspace: Path) -> tuple[str, ...]:
    """Return lines about rules for unknown tools.

    The user's own tools are loaded only if a rule names a tool that is not built in.
    """
    if not rule_set.unknown_tools(list_registered_tools()):
        return ()
    selection = select_tools(settings, where.settings_file, ToolContext(str(workspace), complete=NoModel()))
    try:
        return rule_set.unknown_tools(selection.names)
    finally:
        selection.close()


def origin(rule: Rule, user_file: Path, own: Path) -> str:
    """Return the origin of a rule: this session, or a file and, if the rule is limited to a
    directory, that directory.
    """
    if rule.source == "session":
        return "this session"
    file = own if rule.source == "folder" else user_file
    return f"{file}{f', in {rule.folder}' if rule.folder else ''}"


def tried(where: Locations, settings: Settings, workspace: Path, commands: Iterable[str]) -> Iterator[str]:
    """Yield lines about what would happen to each command, and why, without running it."""
    rule_set = rule_set_of(where, settings, workspace)
    for command in commands:
        subject = command_subject(command, str(workspace), os.path.expanduser("~"))  # noqa: PTH111
        yield from _outcome(rule_set, settings, subject, summed(subject.parts), command)


def tried_call(where: Locations, settings: Settings, workspace: Path, name: str, path: str) -> Iterator[str]:
    """Yield lines about what would happen to a call of the tool `name` on a path. Raises UsageError if no such tool is
    enabled.
    """
    selection = select_tools(settings, where.settings_file, ToolContext(str(workspace), complete=NoModel()))
    try:
        tool = selection.tools.get(name)
        if tool is None:
            raise UsageError(f"there is no enabled tool {name!r}{near(name, selection.tools)}; `ohw tools` lists them")
        whole, arguments = _named(path, workspace)
        local = assess(tool, arguments, RatingContext(str(workspace)))
        subject = subject_of(name, arguments, local, str(workspace))
        reads = tool.is_read_only
        yield from _outcome(
            rule_set_of(where, settings, workspace), settings, subject, local, f"{name} {whole}", reads=reads
        )
    finally:
        selection.close()


def _named(path: str, workspace: Path) -> tuple[str, dict[str, str]]:
    """Return the absolute path or the URL, and the arguments of a call about it."""
    if is_url(path):
        return path, {"url": path}
    whole = os.path.join(workspace, os.path.expanduser(path)) if path else ""  # noqa: PTH111, PTH118
    return whole, {"path": os.path.normpath(whole)} if whole else {}


def _outcome(
    rule_set: RuleSet, settings: Settings, subject: Subject, local: Assessment, call: str, *, reads: bool = False
) -> Iterator[str]:
    """Yield lines about what the rules and the mode decide on an action, assuming that the model rates it LOW."""
    caution = BROKEN if rule_set.is_broken else ""
    rules, mode = rule_set.rules(), cast(Mode, settings.mode)
    ruling = rule_on(
        mode,
        effective("LOW", local.risk),
        reads,
        subject.tool,
        edits=edits_workspace(subject),
        reads=subject.is_shell and only_looks(subject.arguments, local, subject.workspace),
        rule=deciding(rules, subject),
        caution=caution,
        protected=guarded_by(rules, subject),
        unplaced=unplaced_write(subject),
        confirm_unknown=rule_set.confirm_unknown,
    )
    why = ruling.rule if ruling.by == "mode" or ruling.rule == caution else f"rule {ruling.rule}"
    yield f"{_DONE[ruling.verdict]:<14}  {local.risk:<6}  {visible(call.strip(), lines=False)}"
    yield f"    by {visible(why, lines=False)}"
    beside = [ruling.reason] if ruling.verdict == "ask" and ruling.reason else []
    yield from (f"    {visible(reason, lines=False)}" for reason in (*beside, *local.reasons))
