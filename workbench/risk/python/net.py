"""Calls of Python that ask another machine or send something to it."""

from __future__ import annotations

import ast
import re
from typing import Final

from workbench.risk.actions import assess_address
from workbench.risk.python.judge import Judge
from workbench.risk.python.values import CONTENT, PLAIN, UNKNOWN, Values, texts

_HERE: Final = re.compile(r"https?://(?:localhost|127(?:\.\d+){1,3}|\[::1\]|0\.0\.0\.0)(?::\d+)?(?:[/?#]|\Z)", re.I)
_CARRIES: Final = frozenset({"params", "headers", "cookies", "auth", "json", "data", "files"})


def asks(judge: Judge, call: ast.Call, address: Values) -> None:
    """An address is read."""
    for text in texts(address) or [UNKNOWN]:
        judge.used.add(text)
        if CONTENT in text or _carries_content(judge, call):
            judge.found(call, "HIGH", "sends what it read to another machine")
        elif text.startswith(UNKNOWN):
            judge.found(call, "MEDIUM", "reads from an address that is not known before it runs")
        elif text.startswith("file:"):
            judge.uses(call, (re.sub(r"\Afile:/*", "/", text),), "read")
        elif not re.match(r"[a-z+]+:", text, re.I):
            judge.uses(call, (text,), "read")
        elif not _HERE.match(text):
            rated = assess_address(re.sub(f"[{UNKNOWN}{PLAIN}]", "x", text))
            for part in rated.parts:
                judge.found(call, part.risk, part.reason, paths=part.paths)
        else:
            judge.found(call, "MEDIUM", "asks a program on this machine")


def _carries_content(judge: Judge, call: ast.Call) -> bool:
    """Whether something that was read goes along with the question."""
    given = [each.value for each in call.keywords if each.arg in _CARRIES]
    return any(_holds_content(judge.reading.values(value)) for value in given)


def _holds_content(found: object) -> bool:
    return CONTENT in repr(found).replace("\\x01", CONTENT)


def sends(judge: Judge, call: ast.Call, address: Values) -> None:
    """Something is sent to an address."""
    for text in texts(address) or [UNKNOWN]:
        judge.used.add(text)
        if _HERE.match(text):
            judge.found(call, "MEDIUM", "sends data to this machine")
        else:
            judge.found(call, "HIGH", "sends data to another machine")
