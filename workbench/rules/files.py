"""Rule files (TOML): read with one report of all that is wrong, added to, and a rule taken out; never half written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from workbench.files.replace import replace_file
from workbench.rules.examples import wrong_example
from workbench.rules.rule import VERDICTS, Rule, RuleError, Source, Verdict, near
from workbench.rules.width import too_wide

_TEXTS = ("tool", "command", "path", "folder", "reason")
_LISTS = ("match", "not_match")
_LARGEST = 1_000_000
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*(?:allow|ask|deny)[ \t]*\]\]", re.MULTILINE)


@dataclass(frozen=True)
class RuleFile:
    """What a file says; `faults` are lines for the person, `loses` whether an `ask` or `deny` may be among them."""

    rules: tuple[Rule, ...] = ()
    faults: tuple[str, ...] = ()
    loses: bool = False


def read_rules(path: Path, source: Source) -> RuleFile:
    """The rules of a file; none when it is not there. What is wrong in it allows nothing."""
    try:
        tables = _tables(path)
    except FileNotFoundError:
        return RuleFile()
    except (OSError, ValueError) as error:
        return RuleFile((), (f"{path}: {_said(error)}; none of its rules count, and everything is asked about",), True)
    rules: list[Rule] = []
    faults: list[str] = []
    loses = False
    for number, (verdict, table) in enumerate(tables, 1):
        try:
            rules.append(_rule(verdict, table, source, number))
        except RuleError as error:
            faults.append(f"{path}: rule {number} ({verdict}): {error}")
            loses = loses or verdict != "allow"
    return RuleFile(tuple(rules), tuple(faults), loses)


def _tables(path: Path) -> list[tuple[str, object]]:
    """Each rule with its verdict, in the order of the verdicts; raises OSError and ValueError."""
    if path.stat().st_size > _LARGEST:
        raise ValueError("the file is too large to be a list of rules")
    return _parsed(path.read_bytes())


def _parsed(raw: bytes) -> list[tuple[str, object]]:
    values = tomllib.loads(raw.decode())
    for name, value in values.items():
        if name not in VERDICTS:
            raise ValueError(
                f"there is no {name!r}{near(name, VERDICTS)}; a rule begins with [[allow]], [[ask]] or [[deny]]"
            )
        if not isinstance(value, list):
            raise ValueError(f"write [[{name}]] with two brackets on each side")
    return [(verdict, table) for verdict in VERDICTS for table in values.get(verdict, [])]


def _said(error: Exception) -> str:
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)


def _rule(verdict: str, table: object, source: Source, number: int) -> Rule:
    if not isinstance(table, Mapping):
        raise RuleError("it is no table")
    _check(table)
    if source == "folder" and (verdict == "allow" or "folder" in table):
        raise RuleError("the rules of a folder may only ask and deny, and count in that folder")
    said: dict[str, Any] = {name: table.get(name, "").strip() for name in _TEXTS}
    said |= {name: tuple(table.get(name, ())) for name in _LISTS}
    return checked(Rule(cast(Verdict, verdict), **said, source=source, number=number))


def _check(table: Mapping[str, Any]) -> None:
    for name, value in table.items():
        if name in _TEXTS and not isinstance(value, str):
            raise RuleError(f"{name} must be text")
        if name in _LISTS and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            raise RuleError(f"{name} must be a list of texts")
        if name not in (*_TEXTS, *_LISTS):
            raise RuleError(f"there is no key {name!r}{near(name, (*_TEXTS, *_LISTS))}")
    if not any(table.get(name, "").strip() for name in ("tool", "command", "path")):
        raise RuleError("it names neither a tool nor a command nor a path")


def checked(rule: Rule) -> Rule:
    """The rule itself; raises RuleError for one that allows too much or whose examples say otherwise."""
    if wide := too_wide(rule):
        raise RuleError(wide)
    if wrong := wrong_example(rule):
        raise RuleError(wrong)
    return rule


def add_rule(path: Path, rule: Rule) -> None:
    """Write the rule at the end of the file, unless it is there; raises RuleError, and then the file is as it was."""
    checked(rule)
    try:
        before = path.read_bytes() if path.exists() else b""
        held = read_rules(path, "person")
        if any((each.text, each.folder) == (rule.text, rule.folder) for each in held.rules):
            return
        if held.loses and not held.rules:
            raise RuleError(f"{held.faults[0]}; mend that first")
        gap = b"" if not before else b"\n" if before.endswith(b"\n") else b"\n\n"
        after = before + gap + "\n".join(_written(rule)).encode()
        _parsed(after)
        replace_file(path, after)
    except (OSError, ValueError) as error:
        raise RuleError(f"the rule could not be saved in {path}: {_said(error)}") from error


def drop_rule(path: Path, rule: Rule) -> None:
    """Take the rule out of the file and leave the rest to the letter; raises RuleError."""
    try:
        text = path.read_bytes().decode()
        kept, is_found = [], False
        for block in _blocks(text):
            mine = not is_found and any(_is_it(rule, verdict, table) for verdict, table in _parsed(block.encode()))
            is_found = is_found or mine
            kept += [] if mine else [block]
        if not is_found:
            raise RuleError(f"{path} has no such rule any more")
        after = "".join(kept).encode()
        if len(_parsed(after)) != len(_parsed(text.encode())) - 1:
            raise RuleError(f"the rule cannot be told from the others in {path}; take it out with an editor")
        replace_file(path, after)
    except (OSError, ValueError) as error:
        raise RuleError(f"the rule could not be taken out of {path}: {_said(error)}") from error


def _blocks(text: str) -> list[str]:
    """The text cut before each rule."""
    starts = [found.start() for found in _HEADER.finditer(text)]
    return [text[at:until] for at, until in zip([0, *starts], [*starts, len(text)], strict=True) if at < until]


def _is_it(rule: Rule, verdict: str, table: object) -> bool:
    try:
        found = _rule(verdict, table, "person", 0)
    except RuleError:
        return False
    return (found.text, found.folder) == (rule.text, rule.folder)


def _written(rule: Rule) -> Iterator[str]:
    yield f"[[{rule.verdict}]]"
    for name in _TEXTS:
        if value := getattr(rule, name):
            yield f"{name} = {json.dumps(value, ensure_ascii=False)}"
    for name in _LISTS:
        if values := getattr(rule, name):
            yield f"{name} = {json.dumps(list(values), ensure_ascii=False)}"
    yield ""
