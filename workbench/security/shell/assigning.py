"""Variables that are set: by assignments, declarations, expansions, sums and loops; used by the walk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.security.assessment import Part, shortened
from workbench.security.places import within
from workbench.security.shell.subscripts import RUNS, any_holds_command, holds_command, quotes_command
from workbench.security.shell.variables import poisons
from workbench.security.shell.words import UNKNOWN, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.security.shell.scan import Scan

_SUBSCRIPT = re.compile(r"\[.*(?:\$\(|`)", re.DOTALL)
_PLAIN_VALUE = re.compile(r"[\w./-]+\Z", re.ASCII)
_DEFAULT = re.compile(r"\$\{(\w+)(?:\[[^]]*\])?:?=(.*)\}\Z", re.DOTALL)
_PART_OF = re.compile(r"\$\{\w+:[^-+=?]")
_PROMPT = re.compile(r"@P\}\Z")
_BODIES = frozenset({"do_group", "compound_statement"})
_PRINTS = re.compile(r"(?:export|declare|typeset|readonly|local)(?:\s+-[px]+)*\s*")
_REFERS = re.compile(r"(?:declare|typeset|local|readonly)\s+(?:-\w+\s+)*-\w*[in]")
_SUM = re.compile(r"(?:\+\+|--)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))")


def assigned(scan: Scan, node: Node, command: str = "") -> None:
    """A variable is set: for all that follows, or for one command."""
    name, _, value = scan.reader.raw(node).partition("=")
    value_node = node.child_by_field_name("value")
    word = scan.reader.word(value_node) if value_node else Word("", "")
    elements = value_node.children if value_node is not None and value_node.type == "array" else ()
    if any_holds_command(scan.reader.word(child) for child in elements if child.is_named):
        _says(scan, scan.reader.raw(node), RUNS)
    for child in node.children:
        scan.visit(child)
    _set(scan, name, word, value, command)


def declared(scan: Scan, node: Node) -> None:
    """`export`, `declare`, `local` and `unset` with their words."""
    _declaration(scan, node)
    for child in node.children:
        if child.type == "variable_assignment":
            assigned(scan, child)
        elif child.is_named:
            scan.visit(child)
            word = scan.reader.word(child)
            name, equals, value = word.text.partition("=")
            if equals or node.type == "unset_command":
                _set(scan, name, Word(value or UNKNOWN, word.raw), value)
            elif UNKNOWN in word.text or _SUBSCRIPT.search(word.text):
                _says(scan, word.raw, "sets a variable that is not known before")


def _declaration(scan: Scan, node: Node) -> None:
    raw = scan.reader.raw(node)
    if _REFERS.match(raw) and any(UNKNOWN in scan.reader.word(child).text for child in _values_in(node)):
        _says(scan, raw, "reckons with a value that is not known before")
    if quotes_command(raw):
        _says(scan, raw, RUNS)
    if _PRINTS.fullmatch(raw):
        scan.parts.append(Part(shortened(raw), "MEDIUM", "prints all variables, secrets among them"))


def _values_in(node: Node) -> Iterator[Node]:
    values = (child.child_by_field_name("value") for child in node.children if child.type == "variable_assignment")
    return (value for value in values if value is not None and value.type != "array")


def expanded(scan: Scan, node: Node) -> None:
    """`${NAME:=value}` sets the variable where it has none."""
    raw = scan.reader.raw(node)
    if _PROMPT.search(raw):
        _says(scan, raw, "runs what a variable holds")
    found = _DEFAULT.match(raw)
    if found:
        scan.sets = True
        _set(scan, found[1], Word(UNKNOWN, raw), found[2])
    if "[" in raw or _PART_OF.match(raw):
        reckoned(scan, node)
        return
    for child in node.children:
        scan.visit(child)


def reckoned(scan: Scan, node: Node) -> None:
    """A sum may set variables too: `((NAME=1))`, `$((NAME++))`, `${x[NAME=1]}`."""
    raw = scan.reader.raw(node)
    if node.type != "compound_statement" or raw.startswith("(("):
        for name in _set_in(raw):
            scan.sets = True
            _set(scan, name, Word(UNKNOWN, raw), "…")
    for child in node.children:
        scan.visit(child)


def names_of_loop(scan: Scan, node: Node) -> None:
    """The variables that `for` and `select` set."""
    body = next((child.start_byte for child in node.children if child.type in _BODIES), node.end_byte)
    head = scan.reader.source[node.start_byte : body].decode(errors="replace")
    if quotes_command(head):
        _says(scan, head, RUNS)
    for child in node.children:
        if child.type == "variable_name":
            _set(scan, scan.reader.raw(child), Word(UNKNOWN, ""), "…")
        elif child.type not in _BODIES and node.type == "c_style_for_statement":
            for name in _set_in(scan.reader.raw(child)):
                _set(scan, name, Word(UNKNOWN, ""), "…")
        elif child.is_named and child.type not in _BODIES and holds_command(scan.reader.word(child).text):
            _says(scan, scan.reader.raw(child), RUNS)


def _says(scan: Scan, raw: str, reason: str) -> None:
    scan.parts.append(Part(shortened(raw), "HIGH", reason))


def _set_in(raw: str) -> Iterator[str]:
    return (found[1] or found[2] for found in _SUM.finditer(raw))


def _set(scan: Scan, name: str, word: Word, raw: str, command: str = "") -> None:
    here = scan.folder is not None and within(scan.places.resolved(scan.folder), scan.places.workspace)
    found = poisons(name, raw.strip("\"'") if UNKNOWN in word.text else word.text, command, here=here)
    if _SUBSCRIPT.search(name) or holds_command(word.text) or quotes_command(raw):
        found = ("HIGH", RUNS)
    if found:
        risk, reason = found
        scan.parts.append(Part(shortened(f"{name}={raw}"), risk, reason))
    if not command and word.is_literal and _PLAIN_VALUE.match(word.text) and name.isidentifier():
        scan.values[name] = word.text
    else:
        scan.values.pop(name, None)
