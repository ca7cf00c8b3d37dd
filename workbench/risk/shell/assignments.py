"""Rate variables that are set by assignments, declarations, arithmetic and loops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Part, shortened
from workbench.risk.environment import (
    MAKES_NAMEREFS,
    NAMEREF,
    is_harmless_name,
    makes_nameref,
    names_in,
    poisons,
    rated_variable,
)
from workbench.risk.paths import within
from workbench.risk.reason import PRINTS_VARIABLES, Reason, Trait
from workbench.risk.shell.origins import ARGUMENTS, RUNS, any_holds_command, holds_command, quotes_command
from workbench.risk.shell.words import is_open
from workbench.risk.word import UNKNOWN, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

_SUBSCRIPT = lazy_pattern(r"\[.*(?:\$\(|`)", re.DOTALL)
_FITS = lazy_pattern(r"[*?]|\[[^]]*\](?!=)")
_PLACED = lazy_pattern(r"\[([^]]*)\]\+?=")
_FLAGS = lazy_pattern(r"\s-([A-Za-z]+)")
_DECLARED = lazy_pattern(r"[+=\[]")
_NAMES = frozenset({"variable_assignment", "variable_name"})
_PLAIN_VALUE = lazy_pattern(r"[\w./-]+\Z", re.ASCII)
_SPLIT_VALUE = lazy_pattern(r"(?=.*[ *?\[])[\w./=:,@%+{}()\"'|;<>&$!#*?\[\] -]{1,200}\Z", re.ASCII)
"""Matches values that the shell splits or expands if they are unquoted."""
_PRINTS = lazy_pattern(r"(?:export|declare|typeset|readonly|local)(?:\s+-[px]+)*\s*")
_REFERS = lazy_pattern(r"(?:declare|typeset|local|readonly)\s+(?:-\w+\s+)*-\w*[in]")


def assigned(scan: Scan, node: Node, command: str = "", *, exported: bool = False) -> None:
    """Rate an assignment for the rest of the line, or for one `command`; `exported` says that all programs get it."""
    name, _, value = scan.reader.raw(node).partition("=")
    value_node = node.child_by_field_name("value")
    word = scan.reader.word(value_node) if value_node else Word("", "")
    elements = value_node.children if value_node is not None and value_node.type == "array" else ()
    words = [scan.reader.word(child) for child in elements if child.is_named]
    scan.note_listed(words)
    if any_holds_command(words):
        says(scan, scan.reader.raw(node), RUNS)
    is_apart = node.next_sibling is not None and node.next_sibling.type == "&"  # set in a shell of its own
    _origin(scan, node, name, value, words, lasts=not command and not is_apart)
    for child in node.children:
        scan.visit(child)
    set_variable(scan, name, Word(UNKNOWN, word.raw) if is_apart else word, value, command, exported=exported)


def _origin(scan: Scan, node: Node, name: str, value: str, words: list[Word], *, lasts: bool) -> None:
    """Record where the value comes from; the names of files that match a pattern come from outside."""
    if node.parent is not None and node.parent.type == "c_style_for_statement":
        scan.origins.number(name)
        return
    scan.origins.assign(name, value, lasts=lasts)
    if any(word.is_pattern and _FITS.search(word.raw) for word in words):
        scan.origins.outside(name)
    for word in words:
        if at := _PLACED.match(word.raw):
            scan.origins.add_arithmetic(at[1])


def declared(scan: Scan, node: Node) -> None:
    """Rate `export`, `declare`, `local` or `unset` with its arguments."""
    _declaration(scan, node)
    marks = _attributes(scan, node)
    flags = (child for child in node.children[1:] if child.type not in _NAMES)
    if node.children[0].type in MAKES_NAMEREFS and any(makes_nameref(scan.reader.word(flag)) for flag in flags):
        says(scan, scan.reader.raw(node), NAMEREF)
        scan.distrust(names_in(scan.reader.raw(node)))
    if node.type == "unset_command" and re.match(r"unset\s+-\w*f", scan.reader.raw(node)):
        scan.parts.append(Part(shortened(scan.reader.raw(node)), "MEDIUM", "removes a function for later commands"))
    for child in node.children:
        if child.type == "variable_assignment":
            assigned(scan, child, exported="x" in marks or "r" in marks)
        elif child.is_named:
            scan.visit(child)
            word = scan.reader.word(child)
            _declared_word(scan, node, word, marks)
            if word.matches and "=" not in word.text and {"*", "?"} & {*word.text}:
                reason = "takes the names of files for names of variables"
                scan.parts.append(Part(shortened(word.raw), "MEDIUM", reason))


_CHANGES: Final = frozenset("rnulci")
"""Attributes that change whether programs get a variable, or the value that a later assignment stores in it."""


def _declared_word(scan: Scan, node: Node, word: Word, marks: str) -> None:
    name, equals, value = word.text.partition("=")
    if node.type == "unset_command" and "[" in word.raw:
        scan.origins.add_arithmetic(word.raw.partition("[")[2])
    if UNKNOWN in name.partition("[")[0]:
        says(scan, word.raw, Reason("sets a variable only known at run time", Trait.UNCERTAIN))
    elif (equals or node.type == "unset_command") and not is_open(word):
        set_variable(scan, name, Word(value or UNKNOWN, word.raw), value)
    elif UNKNOWN in word.text or is_open(word) or _SUBSCRIPT.search(word.text):
        says(scan, word.raw, Reason("sets a variable only known at run time", Trait.UNCERTAIN))
    elif name.isidentifier():
        _without_value(scan, name, marks)
        result = poisons(name, "") if _CHANGES.intersection(marks.replace("local", "")) else None
        if result:
            scan.parts.append(Part(shortened(word.raw), *result))
        if "x" in marks and "n" not in marks and not is_harmless_name(name):
            scan.parts.append(Part(shortened(word.raw), "MEDIUM", "gives a variable to all programs that follow"))


def _attributes(scan: Scan, node: Node) -> str:
    """Return the letters of the flags, and register integer and associative variables before they are set."""
    raw = scan.reader.raw(node)
    marks = "".join(_FLAGS.findall(raw)) + ("local" if raw.startswith("local") else "")
    marks += {"export": "x", "readonly": "r"}.get(raw.split(maxsplit=1)[0], "")
    if "i" in marks or "A" in marks:
        names = {_DECLARED.split(scan.reader.raw(child))[0] for child in node.children if child.type in _NAMES}
        scan.origins.integers |= names if "i" in marks else set()
        scan.origins.maps |= names if "A" in marks else set()
    return marks


def _without_value(scan: Scan, name: str, marks: str) -> None:
    if "local" in marks:
        scan.origins.number(name)
    elif "i" in marks:
        scan.origins.add_arithmetic(name)


def _declaration(scan: Scan, node: Node) -> None:
    raw = scan.reader.raw(node)
    if _REFERS.match(raw) and any(UNKNOWN in scan.reader.word(child).text for child in _values_in(node)):
        says(scan, raw, Reason("does arithmetic with a value only known at run time", Trait.UNCERTAIN))
    if quotes_command(raw):
        says(scan, raw, RUNS)
    if _PRINTS.fullmatch(raw):
        scan.parts.append(Part(shortened(raw), "MEDIUM", PRINTS_VARIABLES))


def _values_in(node: Node) -> Iterator[Node]:
    values = (child.child_by_field_name("value") for child in node.children if child.type == "variable_assignment")
    return (value for value in values if value is not None and value.type != "array")


def says(scan: Scan, raw: str, reason: str) -> None:
    """Add a HIGH part with this reason for a piece of the line."""
    scan.parts.append(Part(shortened(raw), "HIGH", reason))


def set_variable(scan: Scan, name: str, word: Word, raw: str, command: str = "", *, exported: bool = False) -> None:
    """Rate setting a variable, and record its value if it is known; `exported` says that programs see it."""
    here = scan.directory is not None and within(scan.context.resolved(scan.directory), scan.context.workspace)
    text = raw.strip("\"'") if UNKNOWN in word.text else word.text
    result = poisons(name, text, command, here=here)
    if not result and (command or exported):
        rating = rated_variable(name, text, command)
        result = rating if rating[0] != "LOW" else None
    if _SUBSCRIPT.search(name) or holds_command(word.text) or quotes_command(raw):
        result = ("HIGH", RUNS)
    if result:
        risk, reason = result
        scan.parts.append(Part(shortened(f"{name}={raw}"), risk, reason))
    is_certain = _PLAIN_VALUE.match(word.text) or _SPLIT_VALUE.match(word.text)
    if not command and word.is_literal and is_certain and name.isidentifier() and name not in scan.volatile:
        scan.values[name] = word.text
    else:
        scan.values.pop(_NAME_SET.split(name)[0], None)


_NAME_SET = lazy_pattern(r"[+\[]")
_DEFAULT = lazy_pattern(r"\$\{(\w+)(?:\[[^]]*\])?:?=(.*)\}\Z", re.DOTALL)
_PART_OF = lazy_pattern(r"\$\{(?:\w+|[@*])(?:\[[^]]*\])?:(?![-+=?])(.*)\}\Z", re.DOTALL)
_ELEMENT = lazy_pattern(r"(?:\$\{[!#]?)?(\w+)\[(.*?)\](?=\Z|[-:+#%/^,@}=?])", re.DOTALL)
_REFERS_TO = lazy_pattern(r"\$\{!(\w+|[@*#])[^\w@*\[]")
_ALL = lazy_pattern(r"[@*]|-?\d+")
_PROMPT = lazy_pattern(r"@P\}\Z")
_BODIES = frozenset({"do_group", "compound_statement"})
_SUM = lazy_pattern(r"(?:\+\+|--)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))")


def expanded(scan: Scan, node: Node) -> None:
    """Rate an expansion: `${NAME:=value}` may set the variable; subscripts and substrings are arithmetic."""
    raw = scan.reader.raw(node)
    if _PROMPT.search(raw):
        says(scan, raw, Reason("runs the content of a variable", Trait.RUNS))
    result = _DEFAULT.match(raw)
    if result:
        scan.sets = True
        scan.origins.assign(f"{result[1]}+", result[2])
        set_variable(scan, result[1], Word(UNKNOWN, raw), result[2])
    if refers := _REFERS_TO.match(raw):
        scan.origins.refer(raw, ARGUMENTS if refers[1] == "#" else refers[1])
    if part := _PART_OF.match(raw):
        scan.origins.add_arithmetic(part[1].replace(":", " "))
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


def arithmetic(scan: Scan, node: Node) -> None:
    """Rate arithmetic, which may also set variables: `((NAME=1))`, `$((NAME++))`, `${x[NAME=1]}`."""
    raw = scan.reader.raw(node)
    if node.type == "subscript":
        _element(scan, raw)
        _sets(scan, raw)
    elif node.type != "compound_statement" or raw.startswith("(("):
        scan.origins.add_arithmetic(raw)
        _sets(scan, raw)
    _inside(scan, node)


def _element(scan: Scan, raw: str) -> None:
    """Record the subscript as arithmetic, unless it is the key of an associative array or selects all elements."""
    result = _ELEMENT.match(raw)
    if result and result[1] not in scan.origins.maps and not _ALL.fullmatch(result[2]):
        scan.origins.add_arithmetic(result[2])


def _sets(scan: Scan, raw: str) -> None:
    for name in _set_in(raw):
        scan.sets = True
        set_variable(scan, name, Word(UNKNOWN, raw), "…")
        scan.origins.number(name)


def _set_in(raw: str) -> Iterator[str]:
    return (match[1] or match[2] for match in _SUM.finditer(raw))


def names_of_loop(scan: Scan, node: Node) -> None:
    """Rate the variables that `for` and `select` set."""
    body = next((child.start_byte for child in node.children if child.type in _BODIES), node.end_byte)
    head = scan.reader.source[node.start_byte : body].decode(errors="replace")
    if quotes_command(head):
        says(scan, head, RUNS)
    if node.type == "c_style_for_statement":
        _sets(scan, head)
        scan.origins.add_arithmetic(head.partition("((")[2].rpartition("))")[0])
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
    """Record the possible values of a loop's variable; file names come from outside."""
    scan.note_listed(values)
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
