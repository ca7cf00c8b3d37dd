"""Redirects that a rule can name: to files with plain names, to other descriptors and to `/dev/null`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.shell.parser import words_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

_TO_FILE: Final = lazy_pattern(r"([12]?|&)(>>?)(?![>&|(])")
_TO_DESCRIPTOR: Final = lazy_pattern(r"[12]?>&[12]")


def plain_redirects(scan: Scan, nodes: Sequence[Node]) -> tuple[str, ...] | None:
    """Return the redirects to files, each as OPERATOR and quoted path; None if any redirect is of another kind.

    Redirects to other descriptors and to `/dev/null` are omitted, because they write nothing.
    """
    result: list[str] = []
    for node in nodes:
        raw = scan.reader.raw(node)
        if _TO_DESCRIPTOR.fullmatch(raw.replace(" ", "")):
            continue
        operator = _TO_FILE.match(raw)
        targets = [child for child in node.children if child.is_named and child.type != "file_descriptor"]
        if node.type != "file_redirect" or node.has_error or operator is None or len(targets) != 1:
            return None
        (word,) = words_of(scan, targets) or (None,)
        if word is None or not word.is_literal or word.runs or not word.text:
            return None
        if word.text != "/dev/null":
            result.append(f"{operator[0]} {shlex.quote(word.text)}")
    return tuple(result)
