"""Sums, subscripts and loops: what they set, and what is reckoned in them; used by the walk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.risk.shell.assigning import says, set_variable
from workbench.risk.shell.origins import ARGUMENTS
from workbench.risk.shell.subscripts import RUNS, holds_command, quotes_command
from workbench.risk.shell.words import UNKNOWN, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

_DEFAULT = re.compile(r"\$\{(\w+)(?:\[[^]]*\])?:?=(.*)\}\Z", re.DOTALL)
_PART_OF = re.compile(r"\$\{(?:\w+|[@*])(?:\[[^]]*\])?:(?![-+=?])(.*)\}\Z", re.DOTALL)
_ELEMENT = re.compile(r"(?:\$\{[!#]?)?(\w+)\[(.*?)\](?=\Z|[-:+#%/^,@}=?])", re.DOTALL)
_REFERS = re.compile(r"\$\{!(\w+|[@*#])[^\w@*\[]")
_ALL = re.compile(r"[@*]|-?\d+")
_PROMPT = re.compile(r"@P\}\Z")
_BODIES = frozenset({"do_group", "compound_statement"})
_SUM = re.compile(r"(?:\+\+|--)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))")


def expanded(scan: Scan, node: Node) -> None:
    """`${NAME:=value}` sets the variable where it has none; a subscript and a part of a text are reckoned."""
    raw = scan.reader.raw(node)
    if _PROMPT.search(raw):
        says(scan, raw, "runs what a variable holds")
    found = _DEFAULT.match(raw)
    if found:
        scan.sets = True
        scan.origins.assign(f"{found[1]}+", found[2])
        set_variable(scan, found[1], Word(UNKNOWN, raw), found[2])
    if refers := _REFERS.match(raw):
        scan.origins.refer(raw, ARGUMENTS if refers[1] == "#" else refers[1])
    if part := _PART_OF.match(raw):
        scan.origins.reckon(part[1].replace(":", " "))
    if "[" in raw or part:
        _element(scan, raw)
        _sets(scan, raw)
    for child in node.children:
        if child.type != "subscript":
            scan.visit(child)
        else:
            _inside(scan, child)


def _inside(scan: Scan, node: Node) -> None:
    for child in node.children:
        scan.visit(child)


def reckoned(scan: Scan, node: Node) -> None:
    """A sum may set variables too: `((NAME=1))`, `$((NAME++))`, `${x[NAME=1]}`."""
    raw = scan.reader.raw(node)
    if node.type == "subscript":
        _element(scan, raw)
        _sets(scan, raw)
    elif node.type != "compound_statement" or raw.startswith("(("):
        scan.origins.reckon(raw)
        _sets(scan, raw)
    _inside(scan, node)


def _element(scan: Scan, raw: str) -> None:
    """The subscript of an element, unless it is a word or stands for all."""
    found = _ELEMENT.match(raw)
    if found and found[1] not in scan.origins.maps and not _ALL.fullmatch(found[2]):
        scan.origins.reckon(found[2])


def _sets(scan: Scan, raw: str) -> None:
    for name in _set_in(raw):
        scan.sets = True
        set_variable(scan, name, Word(UNKNOWN, raw), "…")
        scan.origins.number(name)


def _set_in(raw: str) -> Iterator[str]:
    return (found[1] or found[2] for found in _SUM.finditer(raw))


def names_of_loop(scan: Scan, node: Node) -> None:
    """The variables that `for` and `select` set."""
    body = next((child.start_byte for child in node.children if child.type in _BODIES), node.end_byte)
    head = scan.reader.source[node.start_byte : body].decode(errors="replace")
    if quotes_command(head):
        says(scan, head, RUNS)
    if node.type == "c_style_for_statement":
        _sets(scan, head)
        scan.origins.reckon(head.partition("((")[2].rpartition("))")[0])
        return
    name = ""
    values = []
    for child in node.children:
        if child.type == "variable_name":
            name = scan.reader.raw(child)
            set_variable(scan, name, Word(UNKNOWN, ""), "…")
        elif child.is_named and child.type not in _BODIES:
            values.append(scan.reader.word(child))
    _takes(scan, name, values, is_asked=head.startswith("select"))


def _takes(scan: Scan, name: str, values: list[Word], *, is_asked: bool) -> None:
    """The variable of a loop gets one value after the other; names of files are from outside."""
    for word in values:
        if holds_command(word.text):
            says(scan, word.raw, RUNS)
    fits = [word for word in values if word.is_pattern and re.search(r"[*?\[]", word.raw)]
    if fits:
        scan.origins.outside(name, fits[0].text if len(values) == 1 and UNKNOWN not in fits[0].text else "")
    else:
        scan.origins.assign(name, " ".join(word.raw for word in values) if values else '"$@"')
    if is_asked:
        scan.origins.outside("REPLY")
