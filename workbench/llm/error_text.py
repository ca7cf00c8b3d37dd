"""Extracts a provider's own message from the body of an error: JSON, the repr of bytes or of a dictionary, or a web
page.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

_DEEPEST: Final = 8
_LONGEST: Final = 20_000
_BYTES: Final = re.compile(r"""\bb(?P<quote>['"])(?:\\.|(?!(?P=quote)).)*(?P=quote)""", re.DOTALL)
_TITLE: Final = re.compile(r"<(?P<tag>title|h1)\b[^>]*>(?P<text>[^<]+)</(?P=tag)>", re.IGNORECASE)
_PAGE: Final = re.compile(r"\s*<(?:!doctype|html|head|\?xml)\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<(?:style|script)\b.*?</(?:style|script)>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_KEYS: Final = ("error", "errors", "detail", "message", "msg", "error_message", "Message", "reason", "title")
"""Keys under which providers put the message or the object that holds it, the likelier ones first."""


def sentence_in(body: object, depth: int = 0) -> str:
    """Return the message in an error's body, followed by its code if that is a string; empty if there is none."""
    if depth > _DEEPEST:
        return ""
    if isinstance(body, str):
        return sentence_in_text(body, depth) or body.strip() if depth else sentence_in_text(body)
    if isinstance(body, list):
        return next(filter(None, (sentence_in(each, depth + 1) for each in body)), "")
    if not isinstance(body, Mapping):
        return ""
    sentence = next(filter(None, (sentence_in(body.get(key), depth + 1) for key in _KEYS)), "")
    code = body.get("code")
    is_own = isinstance(body.get("message"), str) and not body.get("error")
    return f"{sentence} ({code})" if sentence and is_own and isinstance(code, str) else sentence


def sentence_in_text(text: str, depth: int = 0) -> str:
    """Return the message of the first body in the text that has one, or else the text of a web page; empty if there is
    neither.
    """
    text = without_bytes(text[:_LONGEST])
    for body in _bodies(text):
        if sentence := sentence_in(body, depth + 1):
            return sentence
    return text_of_page(text) if _PAGE.match(text) else ""


def without_bytes(text: str) -> str:
    """Return the text with each repr of bytes replaced with the decoded bytes."""
    return _BYTES.sub(lambda match: _decoded(match.group()), text)


def text_of_page(page: str) -> str:
    """Return the title of a web page or, if it has none, its text without tags."""
    title = _TITLE.search(page)
    return " ".join((title["text"] if title else _TAG.sub(" ", page)).split())


def _decoded(literal: str) -> str:
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        return literal
    return value.decode(errors="replace") if isinstance(value, bytes) else literal


def _bodies(text: str) -> Iterator[object]:
    """Yield the JSON value or the repr of a dictionary or list that begins at the first bracket; if neither parses, try
    from the next brace on.
    """
    start = re.search(r"[\[{]", text)
    if start is None:
        return
    rest = text[start.start() :]
    try:
        yield json.JSONDecoder(strict=False).raw_decode(rest)[0]
    except (ValueError, RecursionError):
        end = rest.rfind("}" if rest[0] == "{" else "]")
        try:
            yield ast.literal_eval(rest[: end + 1])
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            inner = rest.find("{", 1)
            if inner > 0:
                yield from _bodies(rest[inner:])
