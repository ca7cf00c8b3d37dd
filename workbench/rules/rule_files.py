"""Rule files (TOML): reads them, reports all errors, and adds and removes rules atomically."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from workbench.config.toml_file import read_small_file
from workbench.files.state_files import replace_file
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.actions import assess_file, assess_reading, assess_url
from workbench.risk.assessment import Assessment
from workbench.risk.paths import PathContext, words
from workbench.rules.patterns import command_pattern, is_url
from workbench.rules.rule import VERDICTS, Rule, RuleError, Source, Verdict, is_content, near
from workbench.rules.rule_matching import fits
from workbench.rules.subject import EDITS, SANDBOX_WRITE, Subject, subject_of
from workbench.tools.effects import START_AGENT
from workbench.tools.execute_bash import NAME as SHELL
from workbench.tools.execute_ipython_cell import NAME as CELL
from workbench.tools.manifest import ToolKind, kind_of
from workbench.tools.str_replace_editor import NAME as EDITOR
from workbench.tools.web_read import NAME as WEB_READ

RUNS_ANY = words(
    "sh bash zsh dash ksh mksh ash fish csh tcsh rbash yash python python3 pypy pypy3 ipython perl ruby node nodejs "
    "php lua Rscript deno bun osascript julia pwsh groovy elixir tclsh expect awk gawk mawk eval exec source . "
    "command builtin env sudo doas su xargs parallel watch timeout nohup nice setsid time ssh trap find busybox "
    "script uvx npx"
)
"""Programs that run a command or code given as an argument."""
_PROBES = ("-c x", "-e x", "x", "-", "-c 'x y'", "x -exec y", "A=b x")
_RUNS_CODE: Final[frozenset[ToolKind]] = frozenset({"code", "pages", "sub_agent"})


def too_wide(rule: Rule) -> str:
    """Return why an `allow` rule is too wide; empty if it is not. `ask` and `deny` rules may be arbitrarily wide."""
    if rule.verdict != "allow" or rule.tool == EDITS:
        return _wide_edits(rule.path) if rule.verdict == "allow" else ""
    if rule.tool == START_AGENT or kind_of(rule.tool) in _RUNS_CODE:
        return f"{rule.tool} can run anything, so it cannot be allowed as a whole"
    if "*" in rule.tool or "?" in rule.tool:
        return "allow needs the name of one tool"
    if rule.tool == SHELL and not rule.command:
        return "it would allow every command; say which with command"
    if rule.command:
        return _wide_command(rule.command)
    return "" if rule.tool and not rule.path else _wide_path(rule.path)


def _wide_edits(path: str) -> str:
    if not path or is_url(path):
        return f"{EDITS} needs a path; `{EDITS} in **` is the whole workspace"
    return "" if path == "**" else _wide_path(path)


def _wrong_directory(rule: Rule) -> str:
    """Return what is wrong with a rule about directories that sandboxed commands may write to; empty if nothing is."""
    path = rule.path.removesuffix("/**")
    if rule.verdict != "allow":
        return f"{SANDBOX_WRITE} can only be allowed: nothing outside the workspace is written without that"
    if rule.command or not path.startswith(("/", "~/")) or re.search(r"[*?]", path):
        return f"{SANDBOX_WRITE} needs one directory, such as `allow {SANDBOX_WRITE} in ~/notes`"
    return ""


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
    if is_url(path):
        host = path.partition("://")[2].partition("/")[0]
        return "it would allow any URL; write out the host" if "*" in host or "?" in host or not host else ""
    bare = path.rstrip("/")
    if not re.sub(r"[*?/.]", "", bare.removeprefix("~")):
        return "it would allow any file; write more of the path"
    return ""


_WORKSPACE = "/workspace"
_MOST = 50


def wrong_example(rule: Rule) -> str:
    """Return the first problem with a rule's examples, such as one that contradicts the rule; empty if there is
    none.
    """
    if len(rule.match) + len(rule.not_match) > _MOST:
        return f"it has more than {_MOST} examples"
    anywhere = replace(rule, folder="")
    for examples, expected, message in ((rule.match, True, "does not match"), (rule.not_match, False, "matches")):
        for example in examples:
            if fits(anywhere, _example(rule, example)) is not expected:
                return f"it {message} its example {example!r}"
    return ""


def _example(rule: Rule, example: str) -> Subject:
    """Return the subject for an example, which is a command, path, URL or tool name, depending on the rule."""
    home = os.path.expanduser("~")  # noqa: PTH111 - text in, text out
    if rule.command:
        return command_subject(example, _WORKSPACE, home)
    if is_url(rule.path):
        return subject_of(rule.tool or WEB_READ, {"url": example}, assess_url(example), _WORKSPACE, home)
    if rule.path:
        path = os.path.join(_WORKSPACE, os.path.expanduser(example))  # noqa: PTH111, PTH118
        tool = EDITOR if rule.tool in ("", EDITS) else rule.tool
        return subject_of(
            tool, {"path": path}, assess_file("edit", path, PathContext(_WORKSPACE, home)), _WORKSPACE, home
        )
    server_tool = example if "/" in example else ""
    return subject_of(example, {}, Assessment("UNKNOWN", server_tool=server_tool), _WORKSPACE, home)


def subject_again(tool: str, arguments: Mapping[str, Any], workspace: str, directory: str = "") -> Subject:
    """Return the subject of an action in the log, assessed again; `directory` is its working directory."""
    home = os.path.expanduser("~")  # noqa: PTH111 - text in, text out
    if tool == SHELL:
        return command_subject(str(arguments.get("command", "")), workspace, home, directory or workspace)
    context, kind = PathContext(workspace, home), kind_of(tool)
    if kind == "code":
        from workbench.risk.cells import assess_cell, assess_python  # defers loading the parser

        code = str(arguments.get("code", ""))
        result = (assess_cell if tool == CELL else assess_python)(code, context, directory)
    elif kind == "fetch" and "url" in arguments:
        result = assess_url(str(arguments["url"]))
    else:
        result = assess_reading(arguments, context)
    return subject_of(tool, arguments, result, workspace, home)


def command_subject(command: str, workspace: str, home: str, directory: str | None = None) -> Subject:
    """Return the subject of a command line that runs in `directory` (default: the workspace)."""
    from workbench.risk.commands import assess_command  # defers loading the parser

    result = assess_command(command, PathContext(workspace, home), directory)
    return subject_of(SHELL, {"command": command}, result, workspace, home)


_STRINGS = ("tool", "command", "path", "folder", "content", "reason")
_LISTS = ("match", "not_match")
_LARGEST = 1_000_000
_HEADER = lazy_pattern(r"^[ \t]*\[\[[ \t]*(?:allow|ask|deny)[ \t]*\]\]", re.MULTILINE)


class RuleFile(msgspec.Struct, frozen=True):
    """The rules of a file; `faults` contains one line for the user about each problem.

    `may_lack_rules` means that an `ask` or `deny` rule may be missing because of a problem.
    """

    rules: tuple[Rule, ...] = ()
    faults: tuple[str, ...] = ()
    may_lack_rules: bool = False


def read_rules(path: Path, source: Source) -> RuleFile:
    """Read the rules of a file; none if it does not exist. Invalid rules are skipped and reported."""
    try:
        tables = _tables(path)
    except FileNotFoundError:
        return RuleFile()
    except (OSError, ValueError) as error:
        return RuleFile(
            (), (f"{path}: {_message(error)}; its rules are ignored, and every action needs approval",), True
        )
    rules: list[Rule] = []
    faults: list[str] = []
    may_lack_rules = False
    for number, (verdict, table) in enumerate(tables, 1):
        try:
            rules.append(_rule(verdict, table, source, number))
        except RuleError as error:
            faults.append(f"{path}: rule {number} ({verdict}): {error}")
            may_lack_rules = may_lack_rules or verdict != "allow"
    return RuleFile(tuple(rules), tuple(faults), may_lack_rules)


def _tables(path: Path) -> list[tuple[str, object]]:
    """Return each rule's verdict and table, ordered by verdict. Raises OSError and ValueError."""
    raw = read_small_file(path)
    if len(raw) > _LARGEST:
        raise ValueError("the file is too large to be a list of rules")
    return _parsed(raw)


def _parsed(raw: bytes) -> list[tuple[str, object]]:
    values = tomllib.loads(raw.decode())
    for name, value in values.items():
        if name not in VERDICTS:
            raise ValueError(
                f"there is no {name!r}{near(name, VERDICTS)}; a rule starts with [[allow]], [[ask]] or [[deny]]"
            )
        if not isinstance(value, list):
            raise ValueError(f"write [[{name}]] with two brackets on each side")
    return [(verdict, table) for verdict in VERDICTS for table in values.get(verdict, [])]


def _message(error: Exception) -> str:
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)


def _rule(verdict: str, table: object, source: Source, number: int) -> Rule:
    if not isinstance(table, Mapping):
        raise RuleError("it is not a table")
    _check(table)
    if source == "folder" and (verdict == "allow" or "folder" in table):
        raise RuleError("the rules of a directory may only ask and deny, and apply to that directory")
    message: dict[str, Any] = {name: table.get(name, "").strip() for name in _STRINGS}
    message |= {name: tuple(table.get(name, ())) for name in _LISTS}
    return checked(Rule(cast(Verdict, verdict), **message, source=source, number=number))


def _check(table: Mapping[str, Any]) -> None:
    for name, value in table.items():
        if name in _STRINGS and not isinstance(value, str):
            raise RuleError(f"{name} must be text")
        if name in _LISTS and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            raise RuleError(f"{name} must be a list of strings")
        if name not in (*_STRINGS, *_LISTS):
            raise RuleError(f"there is no key {name!r}{near(name, (*_STRINGS, *_LISTS))}")
    if not any(table.get(name, "").strip() for name in ("tool", "command", "path")):
        raise RuleError("it names neither a tool nor a command nor a path")


def checked(rule: Rule) -> Rule:
    """Return the rule unchanged. Raises RuleError if it is invalid, allows too much or contradicts its examples."""
    if rule.tool == EDITS and rule.verdict != "allow":
        raise RuleError(f"{EDITS} can only be allowed; `{rule.verdict} in PATH` covers every tool that writes there")
    if rule.tool == SANDBOX_WRITE and (wrong := _wrong_directory(rule)):
        raise RuleError(wrong)
    if rule.content and not (rule.verdict == "allow" and rule.command and is_content(rule.content)):
        raise RuleError("a content is the hash of the script that an allowed command runs, 32 digits of its SHA-256")
    if wide := too_wide(rule):
        raise RuleError(wide)
    if wrong := wrong_example(rule):
        raise RuleError(wrong)
    return rule


def add_rule(path: Path, rule: Rule) -> None:
    """Append the rule to the file unless it is already there. Raises RuleError, with the file unchanged."""
    add_rules(path, [rule])


def add_rules(path: Path, rules: Sequence[Rule]) -> None:
    """Append those of the rules that are not there yet, all at once. Raises RuleError, with the file unchanged."""
    for rule in rules:
        checked(rule)
    try:
        before = path.read_bytes() if path.is_file() else b""
        held = read_rules(path, "person")
        fresh = [rule for rule in rules if (rule.text, rule.folder) not in [(e.text, e.folder) for e in held.rules]]
        if not fresh:
            return
        if held.may_lack_rules and not held.rules:
            raise RuleError(f"{held.faults[0]}; fix that first")
        gap = b"" if not before else b"\n" if before.endswith(b"\n") else b"\n\n"
        after = before + gap + "\n".join(line for rule in fresh for line in _written(rule)).encode()
        _parsed(after)
        replace_file(path, after)
    except (OSError, ValueError) as error:
        raise RuleError(f"the rule could not be saved in {path}: {_message(error)}") from error


def drop_rule(path: Path, rule: Rule) -> None:
    """Remove the rule from the file, changing nothing else. Raises RuleError, with the file unchanged."""
    try:
        text = path.read_bytes().decode() if path.is_file() else ""
        selected, is_removed = [], False
        for block in _blocks(text):
            mine = not is_removed and any(_is_it(rule, verdict, table) for verdict, table in _parsed(block.encode()))
            is_removed = is_removed or mine
            selected += [] if mine else [block]
        if not is_removed:
            raise RuleError(f"{path} has no such rule any more")
        after = "".join(selected).encode()
        if len(_parsed(after)) != len(_parsed(text.encode())) - 1:
            raise RuleError(f"the rule cannot be distinguished from the others in {path}; remove it with an editor")
        replace_file(path, after)
    except (OSError, ValueError) as error:
        raise RuleError(f"the rule could not be removed from {path}: {_message(error)}") from error


def _blocks(text: str) -> list[str]:
    """Return the text, split before the header of each rule."""
    starts = [match.start() for match in _HEADER.finditer(text)]
    return [text[at:until] for at, until in zip([0, *starts], [*starts, len(text)], strict=True) if at < until]


def _is_it(rule: Rule, verdict: str, table: object) -> bool:
    try:
        result = _rule(verdict, table, "person", 0)
    except RuleError:
        return False
    return (result.text, result.folder) == (rule.text, rule.folder)


def _written(rule: Rule) -> Iterator[str]:
    yield f"[[{rule.verdict}]]"
    for name in _STRINGS:
        if value := getattr(rule, name):
            yield f"{name} = {json.dumps(value, ensure_ascii=False)}"
    for name in _LISTS:
        if values := getattr(rule, name):
            yield f"{name} = {json.dumps(list(values), ensure_ascii=False)}"
    yield ""
