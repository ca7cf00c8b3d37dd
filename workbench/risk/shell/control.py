"""Rate control flow: `&&` and `||`, conditions, and changes of the working directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias

from workbench.lazy_pattern import lazy_pattern
from workbench.protocol.risk import Risk, higher
from workbench.risk.assessment import MOST_REASONS, Part, shortened
from workbench.risk.reason import CANNOT_READ, reworded
from workbench.risk.shell.conditions import files_tested, words_tested
from workbench.risk.shell.origins import RUNS, TEMPORARY, Origins, quotes_command
from workbench.risk.shell.parser import MOST_GUESSES, MOST_PATHS
from workbench.risk.shell.words import WordReader
from workbench.risk.word import Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

_FEW_NODES = 250
_LEAVES = lazy_pattern(r"(?:\A|[;{&|\s])(?:exit|return|die)\b[^;{}()&|]*;?\s*\}?\s*\Z")
_MOVES = (("cd",), ("pushd",), ("popd",))
LineStart: TypeAlias = tuple[str | None, dict[str, str], dict[str, str]]
"""The state at the start of a line: the directory, the variables, and the variables known without an assignment."""
_State: TypeAlias = tuple[str | None, str | None, bool]
_IF_NOT = "if the change of directory before it fails"


def chain(scan: Scan, node: Node) -> None:
    """Rate a list: `cd X && …` continues only if `cd` succeeds, and so does the line after `cd X || exit`."""
    remaining, right = node.children[0], node.children[-1]
    joint = next((child.type for child in node.children if child.type in {"&&", "||"}), "")
    before, values = dict(scan.origins.certain), dict(scan.values)
    scan.visit(remaining)
    if remaining.type == "variable_assignment":
        before[scan.reader.raw(remaining).partition("=")[0]] = ""
        values = dict(scan.values)
    directory, gone = scan.directory, scan.gone
    if joint == "&&":
        state = _held(scan)
        scan.visit(right)
        _behind(scan, state)
        _doubt(scan, node, before, values)
        return
    scan.keep_values(values)
    scan.visit(right)
    scan.keep_values(values)
    _doubt(scan, node, before, values)
    if joint == "||" and right.type != "subshell" and _LEAVES.search(scan.reader.raw(right)):
        scan.directory, scan.unsure, scan.gone = directory if gone is None else gone, False, None


def _held(scan: Scan) -> _State:
    """Assume that all changes of directory so far succeeded; return the previous state."""
    state = (scan.directory, scan.gone, scan.unsure)
    scan.directory, scan.unsure = scan.directory if scan.gone is None else scan.gone, False
    return state


def _behind(scan: Scan, state: _State) -> None:
    directory, gone, unsure = state
    if gone is not None:
        scan.directory, scan.gone = directory, scan.gone or scan.directory
    scan.unsure |= unsure


def branches(scan: Scan, node: Node) -> None:
    """Rate `if`: `if cd X; then …` runs the branch only if `cd` succeeds; no branch uses another's variables."""
    conditions = [child for child in node.children[1:] if child.is_named][:1]
    then = next((at for at, child in enumerate(node.children) if child.type == "then"), 0)
    single = sum(child.is_named for child in node.children[:then]) == 1
    holds = single and conditions[0].type in {"command", "list"} and "||" not in scan.reader.raw(conditions[0])
    state: _State | None = None
    for child in node.children:
        if child.type == "then" and holds:
            state = _held(scan)
        elif child.type in {"elif_clause", "else_clause"}:
            if state:
                _behind(scan, state)
            state = None
            scan.forget()
        scan.visit(child)
    if state:
        _behind(scan, state)
    scan.forget()


def _doubt(scan: Scan, node: Node, before: Mapping[str, str], values: Mapping[str, str]) -> None:
    """After a whole list, keep as certain only variables that were set before it or by its first command."""
    if scan.origins.certain == before and scan.values == values:
        return  # the parser finds a parent from the root on, which takes long in a long list
    if node.parent is None or node.parent.type != "list":
        scan.origins.keep_only(before)
        scan.keep_values(values)


def as_if_not_gone(scan: Scan, root: Node, start: LineStart, at: int) -> None:
    """Rate the line again, assuming that one or all of its `cd` commands fail."""
    single = min(scan.moves, 3) if root.descendant_count < _FEW_NODES else 0
    for fails in {frozenset(range(scan.moves)), *(frozenset({move}) for move in range(single))}:
        other = scan.child()
        other.steps, other.depth, other.fails = iter(range(MOST_PATHS)), scan.depth, fails
        other.guesses = iter(range(MOST_GUESSES))
        other.directory, other.values, other.origins = start[0], dict(start[1]), Origins()
        other.initial, other.volatile = dict(start[2]), set()
        other.reader = WordReader(scan.reader.source, other.values, other.origins)
        other.functions, other.movers, other.setters = set(scan.functions), set(scan.movers), set(scan.setters)
        other.visit(root)
        scan.parts[at:] = both_ways(scan.parts[at:], other.parts)


def both_ways(parts: list[Part], other: list[Part]) -> list[Part]:
    """Return `parts`, rated for successful changes of directory, with risks raised to those in `other`, rated for
    failures.
    """
    if len(parts) != len(other):
        return parts + [_doubted(part) for part in other if part.risk == "HIGH"][:MOST_REASONS]
    return [_higher(one, another) for one, another in zip(parts, other, strict=True)]


def _higher(one: Part, other: Part) -> Part:
    if one == other or other.risk == "LOW" or one.words[:1] in _MOVES:
        return one
    more = _doubted(other) if higher(one.risk, other.risk) != one.risk else one
    return more._replace(
        paths=tuple(dict.fromkeys((*one.paths, *other.paths))),
        deletes=tuple(dict.fromkeys((*one.deletes, *other.deletes))),
        changes=tuple(dict.fromkeys((*one.changes, *other.changes))),
        directories=tuple(dict.fromkeys((*one.directories, *other.directories))),
        protected=tuple(dict.fromkeys((*one.protected, *other.protected))),
    )


def _doubted(part: Part) -> Part:
    return part._replace(reason=reworded(part.reason, f"{part.reason}, {_IF_NOT}"))


_COMPARES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


def tested(scan: Scan, node: Node) -> None:
    """Rate `[ … ]` and `[[ … ]]`."""
    text = scan.reader.raw(node)
    trick = quotes_command(text) or re.search(r"\s-[vR]\s+[^\s]*\$", text)
    paths, is_unplaced = files_tested(scan, list(words_tested(scan, node)))
    risk: Risk = "HIGH" if trick else "LOW"
    scan.parts.append(Part(shortened(text), risk, RUNS if trick else "", paths, unplaced=is_unplaced))
    for child in node.children:
        scan.visit(child)
    if not text.startswith("[[") and may_add_test(_operands(scan, node)):
        scan.parts.append(
            Part(shortened(text), "MEDIUM", "has a word that may become several, one of which may run code")
        )
    if text.startswith("[["):
        _compared(scan, node)
    elif "\n" in text and _over_lines(scan, node):  # bash ends `[` with the line and runs the next one
        scan.parts.append(Part(shortened(text), "HIGH", CANNOT_READ))


def may_add_test(words: Iterable[Word]) -> bool:
    """Return whether a word may become several, among them `-v` or `-R`, whose operand may run a command."""
    return any(
        word.splits or (word.matches and (fnmatchcase("-v", word.text) or fnmatchcase("-R", word.text)))
        for word in words
    )


def _operands(scan: Scan, node: Node) -> Iterator[Word]:
    for child in node.named_children:
        if child.type.endswith("_expression"):
            yield from _operands(scan, child)
        elif child.type != "test_operator":
            yield scan.reader.word(child)


def _over_lines(scan: Scan, node: Node) -> bool:
    """Return whether the test continues on another line outside quotes and substitutions."""
    at = node.start_byte
    for child in node.children:
        if b"\n" in scan.reader.source[at : child.start_byte]:
            return True
        if child.type.endswith("_expression") and _over_lines(scan, child):
            return True
        at = child.end_byte
    return False


def _compared(scan: Scan, node: Node) -> None:
    """Record both sides of `[[ x -eq y ]]` as arithmetic."""
    for child in node.children:
        if child.type == "binary_expression":
            if any(each.type == "test_operator" and scan.reader.raw(each) in _COMPARES for each in child.children):
                scan.origins.add_arithmetic(
                    " ".join(scan.reader.raw(each) for each in child.children if each.type != "test_operator")
                )
            else:
                _compared(scan, child)
        elif child.type in {"parenthesized_expression", "negation_expression", "unary_expression"}:
            _compared(scan, child)


MOVES_CALLER = frozenset({"eval", "command", "builtin", "time", "!"})
"""Commands whose inner command runs in the same shell, so its change of directory lasts."""
_OWN_SHELL = frozenset({"subshell", "command_substitution", "process_substitution", "pipeline"})

_MOVE = lazy_pattern(rb"\b(?:cd|pushd|popd)\b")
_MOVER = lazy_pattern(rb"(?:\w+=\S*\s+)*[\\'\"]*(?:cd|pushd|popd|eval|command|builtin|time)\b")
_DOWN = lazy_pattern(rb"cd +(?!\S*\.\.)[\w@+][\w.@+/-]*")


def change(scan: Scan, word: Word | None) -> None:
    """Apply `cd WORD`; None means the home directory, which is unknown if the line sets HOME."""
    _go(scan, _target(scan, scan.reader.home()) if word is None else _target(scan, word))


def push(scan: Scan, word: Word | None) -> None:
    """Apply `pushd`; unless `word` names a directory, the result is unknown, because it depends on the whole stack."""
    if word is None or word.text.startswith("+"):
        scan.stack.clear()
        _go(scan, None)
    else:
        scan.stack.append(scan.directory)
        _go(scan, _target(scan, word))


def pop(scan: Scan, *, plain: bool) -> None:
    """Apply `popd`: return to the directory before the last `pushd`; unknown if there is none or it is not `plain`."""
    back = scan.stack.pop() if scan.stack and plain else None
    if back is None:
        scan.stack.clear()
    _go(scan, back)


def lose_directory(scan: Scan) -> None:
    """Set the working directory to unknown, because unknown code may have changed it."""
    _go(scan, None)


def taken_over(scan: Scan, child: Scan) -> None:
    """Apply the change of directory of a command that ran in the same shell."""
    scan.stack = child.stack
    if child.moves:
        _go(scan, child.directory)


def called(scan: Scan, name: str) -> None:
    """Apply the call of a function that changes the directory or variables, which are unknown afterwards."""
    if name in scan.movers:
        _go(scan, None)
    if name in scan.setters:
        scan.forget()


def moves_caller(body: Node) -> str:
    """Return how a function's body changes its caller's directory: "" not at all, "down" below it, "away" anywhere."""
    text = body.text or b""
    if body.type in _OWN_SHELL or not _MOVE.search(text):
        return ""
    if body.type == "command":
        return "down" if _DOWN.fullmatch(text) else "away" if _MOVER.match(text) else ""
    result = {moves_caller(child) for child in body.children}
    return "away" if "away" in result else "down" if "down" in result else ""


def _target(scan: Scan, word: Word) -> str | None:
    """Return the directory to which `cd` leads, or None if unknown.

    For `..`, bash shortens the path by which it arrived, whereas the kernel goes up from the real directory. If these
    differ, the result depends on `set -P`, which other shells do not have, so it is treated as unknown.
    """
    if word.text == "-" or word.text[:1] == "+" or (word.is_pattern and not _is_new(word)):
        return None
    path = scan.absolute(word)
    if path is None or ".." not in path.split("/"):
        return path
    by_name = os.path.normpath(path)
    is_same = scan.context.resolved(by_name) == scan.context.resolved(path)
    return scan.context.by_own_name(by_name) if is_same else None


def _go(scan: Scan, path: str | None) -> None:
    move, scan.moves = scan.moves, scan.moves + 1
    if scan.stops or path == scan.directory:
        scan.directory = path
    elif move in scan.fails:
        scan.gone = path or ""
    else:
        scan.directory, scan.unsure = path, True


def _is_new(word: Word) -> bool:
    """Return whether the word is a variable that holds a path created by `mktemp`."""
    return word.text == TEMPORARY and word.raw.lstrip('"').startswith("$")
