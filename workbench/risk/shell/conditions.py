"""`[ … ]` and `[[ … ]]`: what they reckon with, and where bash sees their end; used by the walk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.risk.assessment import Part, shortened
from workbench.risk.shell.subscripts import RUNS, quotes_command

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

_COMPARES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


def tested(scan: Scan, node: Node) -> None:
    """`[ … ]` and `[[ … ]]`."""
    text = scan.reader.raw(node)
    trick = quotes_command(text) or re.search(r"\s-[vR]\s+[^\s]*\$", text)
    scan.parts.append(Part(shortened(text), "HIGH" if trick else "LOW", RUNS if trick else ""))
    for child in node.children:
        scan.visit(child)
    if text.startswith("[["):
        _compared(scan, node)
    elif "\n" in text and _over_lines(scan, node):  # bash ends it with the line, and runs the next one
        scan.parts.append(Part(shortened(text), "HIGH", "cannot be read with certainty"))


def _over_lines(scan: Scan, node: Node) -> bool:
    """Whether it goes on in another line outside of quotes and substitutions."""
    at = node.start_byte
    for child in node.children:
        if b"\n" in scan.reader.source[at : child.start_byte]:
            return True
        if child.type.endswith("_expression") and _over_lines(scan, child):
            return True
        at = child.end_byte
    return False


def _compared(scan: Scan, node: Node) -> None:
    """`[[ x -eq y ]]` reckons both its sides."""
    for child in node.children:
        if child.type == "binary_expression":
            if any(each.type == "test_operator" and scan.reader.raw(each) in _COMPARES for each in child.children):
                scan.origins.reckon(
                    " ".join(scan.reader.raw(each) for each in child.children if each.type != "test_operator")
                )
            else:
                _compared(scan, child)
        elif child.type in {"parenthesized_expression", "negation_expression", "unary_expression"}:
            _compared(scan, child)
