r"""Reads lists and objects that are written as in Python or JavaScript instead of JSON.

Models send `[{'title': "don't", 'done': True},]`, `{title: "a"}`, tuples and comments. Nothing is evaluated: the text
is divided into tokens, which are written again as JSON. Text that is incomplete, or would have to be computed, is
rejected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from workbench.lazy_pattern import lazy_pattern

LONGEST: Final = 200_000
_TOKEN: Final = lazy_pattern(
    r"(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<comment>//[^\n]*|\#[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)"
    r"|(?P<word>[A-Za-z_$][\w$-]*)|(?P<number>-?\d[\w.+-]*)|(?P<sign>[{}\[\](),:])|(?P<space>\s+)",
    re.DOTALL,
)
_WORDS: Final = {"true": "true", "True": "true", "false": "false", "False": "false", "null": "null", "None": "null"}
_CLOSERS: Final = {"[": "]", "{": "}", "(": ")"}
_ESCAPE: Final = lazy_pattern(
    r"(?:\\u[0-9a-fA-F]{4})+|\\x[0-9a-fA-F]{2}|\\U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|\\.", re.DOTALL
)
_ESCAPED: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    **{sign: sign for sign in "\\'\"/"},
}


def literal(text: str) -> Any:
    """Return the list or object that a text contains. Raises ValueError if it contains none, or is ambiguous."""
    if len(text) > LONGEST or text.lstrip()[:1] not in _CLOSERS:
        raise ValueError("this is not a list or an object, or it is too long")
    try:
        return json.loads(" ".join(_as_json(list(_tokens(text)))), object_pairs_hook=_each_once)
    except RecursionError:
        raise ValueError("the text is nested too deeply") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a name is given twice")
    return value


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"there is no literal at {at}")
        at, kind = match.end(), str(match.lastgroup)
        if kind not in ("space", "comment"):
            yield kind, match[0]


def _as_json(tokens: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the tokens as JSON. Raises ValueError if they are not a literal, or yields invalid JSON."""
    opened: list[tuple[str, int]] = []  # each open bracket, and the position of the last comma in it
    before = ""
    for at, (kind, token) in enumerate(tokens):
        after = tokens[at + 1][1] if at + 1 < len(tokens) else ""
        if kind == "string":
            yield json.dumps(_string(token[1:-1]))
        elif kind == "word":
            yield json.dumps(token) if _is_key(token, before, after) else _word(token)
        elif kind == "sign":
            is_last_comma = token == "," and after in _CLOSERS.values() and before not in ("", ",", *_CLOSERS)
            if not is_last_comma:
                yield _bracket(token, before, opened)
            if token == "," and opened:
                opened[-1] = (opened[-1][0], at)
        else:
            yield token
        before = token


def _is_key(token: str, before: str, after: str) -> bool:
    return after == ":" and before in ("{", ",") and token not in _WORDS


def _bracket(token: str, before: str, opened: list[tuple[str, int]]) -> str:
    """Return a punctuation mark as JSON; the brackets of a tuple become those of a list. Raises ValueError for a call,
    and for brackets that do not match.
    """
    if token in _CLOSERS:
        if token == "(" and before not in ("", "[", "(", ",", ":"):
            raise ValueError("a call is not a literal")
        opened.append((token, -1))
    elif token in _CLOSERS.values():
        opening, comma = opened.pop() if opened else ("", -1)
        if _CLOSERS.get(opening) != token or (token == ")" and comma < 0 and before != "("):
            raise ValueError("the brackets do not fit")
    return {"(": "[", ")": "]"}.get(token, token)


def _word(token: str) -> str:
    if token not in _WORDS:
        raise ValueError(f"{token[:40]} is not a literal")
    return _WORDS[token]


def _string(inside: str) -> str:
    return _ESCAPE.sub(_unescaped, inside) if "\\" in inside else inside


def _unescaped(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[1] in "xU" and len(escape) > 2:
        return chr(int(escape[2:], 16))
    if escape[1] == "u" and len(escape) > 2:
        return str(json.loads(f'"{escape}"'))
    if escape[1] not in _ESCAPED:
        raise ValueError(f"{escape} is not an escape")
    return _ESCAPED[escape[1]]
