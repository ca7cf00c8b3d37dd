"""Commands joined by `&&` and `||`, and what is certain in them of a change of folder; used by the walk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from workbench.protocol.risk import higher
from workbench.risk.assessment import MOST_REASONS, Part
from workbench.risk.shell.origins import Origins
from workbench.risk.shell.source import MOST_PATHS
from workbench.risk.shell.words import Reader

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

_FEW_NODES = 250
_LEAVES = re.compile(r"(?:\A|[;{&|\s])(?:exit|return|die)\b[^;{}()&|]*;?\s*\}?\s*\Z")
_MOVES = (("cd",), ("pushd",), ("popd",))
_State: TypeAlias = tuple[str | None, str | None, bool]
_IF_NOT = "if the change of folder before it fails"


def chain(scan: Scan, node: Node) -> None:
    """What stands behind `cd X &&` runs only where it worked; behind `cd X || exit` the rest does."""
    left, right = node.children[0], node.children[-1]
    joint = next((child.type for child in node.children if child.type in {"&&", "||"}), "")
    before = dict(scan.origins.certain)
    scan.visit(left)
    if left.type == "variable_assignment":
        before[scan.reader.raw(left).partition("=")[0]] = ""
    folder, gone = scan.folder, scan.gone
    if joint == "&&":
        state = _held(scan)
        scan.visit(right)
        _behind(scan, state)
        _doubt(scan, node, before)
        return
    scan.visit(right)
    _doubt(scan, node, before)
    if joint == "||" and right.type != "subshell" and _LEAVES.search(scan.reader.raw(right)):
        scan.folder, scan.unsure, scan.gone = folder if gone is None else gone, False, None


def _held(scan: Scan) -> _State:
    """What comes now runs only where the changes of folder worked."""
    state = (scan.folder, scan.gone, scan.unsure)
    scan.folder, scan.unsure = scan.folder if scan.gone is None else scan.gone, False
    return state


def _behind(scan: Scan, state: _State) -> None:
    folder, gone, unsure = state
    if gone is not None:
        scan.folder, scan.gone = folder, scan.gone or scan.folder
    scan.unsure |= unsure


def branches(scan: Scan, node: Node) -> None:
    """`if cd X; then …` runs the first branch only where it worked; no branch knows what another one sets."""
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


def _doubt(scan: Scan, node: Node, before: Mapping[str, str]) -> None:
    """Behind a whole chain only what was set before it, or by its first part, is set for certain."""
    if node.parent is None or node.parent.type != "list":
        scan.origins.keep_only(before)


def as_if_not_gone(scan: Scan, root: Node, start: tuple[str | None, dict[str, str]], at: int) -> None:
    """Rate all again for changes of folder that fail: one of them, or all."""
    single = min(scan.moves, 3) if root.descendant_count < _FEW_NODES else 0
    for fails in {frozenset(range(scan.moves)), *(frozenset({move}) for move in range(single))}:
        other = scan.child()
        other.steps, other.depth, other.fails = iter(range(MOST_PATHS)), scan.depth, fails
        other.folder, other.values, other.origins = start[0], dict(start[1]), Origins()
        other.reader = Reader(scan.reader.source, other.values, other.origins)
        other.functions, other.movers = set(scan.functions), set(scan.movers)
        other.visit(root)
        scan.parts[at:] = both_ways(scan.parts[at:], other.parts)


def both_ways(parts: list[Part], other: list[Part]) -> list[Part]:
    """The parts as they are when each change of folder works, raised to what they are when it does not."""
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
        folders=tuple(dict.fromkeys((*one.folders, *other.folders))),
        protected=tuple(dict.fromkeys((*one.protected, *other.protected))),
    )


def _doubted(part: Part) -> Part:
    return part._replace(reason=f"{part.reason}, {_IF_NOT}")
