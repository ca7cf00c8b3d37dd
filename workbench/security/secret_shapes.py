"""What keys look like: each shape with the marks a text must hold before it is searched; used by `secrets`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Shape(NamedTuple):
    """A kind of secret; only the group `secret` of a match is hidden where there is one."""

    name: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    in_word: int = 0
    """A match holds no blank and has so many signs at least, so its mark stands in so long a word."""
    sign: str = ""
    """One sign that stands in each match, and seldom elsewhere: looked for first, since that is quickest."""
    begins: bool = False
    """A match begins with its mark."""

    def may_stand_in(self, text: str) -> bool:
        """Whether there can be a match at all."""
        return self.sign in text and any(mark in text for mark in self.marks)

    def matches(self, text: str) -> list[re.Match[str]]:
        """All there are, none in another, in order."""
        if not self.begins:
            return list(self.pattern.finditer(text))
        found: list[re.Match[str]] = []
        for place in sorted(place for mark in self.marks for place in _places(text, mark)):
            if (match := self.pattern.match(text, place)) and (not found or place >= found[-1].end()):
                found.append(match)
        return found


SHORT, LONG = 14, 20
"""The signs that a word has at least in which a secret is looked for."""


_FREE = r"(?<![A-Za-z0-9_-])"


def _token(name: str, marks: str, rest: str, in_word: int = LONG) -> Shape:
    beginnings = marks.split()
    either = "|".join(re.escape(mark) for mark in beginnings)
    pattern = re.compile(f"{_FREE}(?:{either}){rest}")
    return Shape(name, _shortest(beginnings), pattern, in_word=in_word, begins=True)


def _shortest(marks: list[str]) -> tuple[str, ...]:
    """Those that begin with no other: where a longer one stands, the shorter is found."""
    return tuple(mark for mark in marks if not any(mark != other and mark.startswith(other) for other in marks))


def _places(text: str, mark: str) -> Iterator[int]:
    place = text.find(mark)
    while place >= 0:
        yield place
        place = text.find(mark, place + 1)


SHAPES: tuple[Shape, ...] = (
    Shape(
        "private key",
        ("PRIVATE KEY",),
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY[A-Z ]*-----(?P<secret>.*?)(?=-----END|\Z)", re.DOTALL),
    ),
    _token("AWS key", "AKIA ASIA", r"[0-9A-Z]{16}(?![A-Za-z0-9])"),
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"[A-Za-z0-9_]{30,}"),
    _token("GitLab token", "glpat- glrt- gldt-", r"(?=[\w.-]{0,80}\d)[\w.-]{8,}", SHORT),
    _token(
        "API key",
        "sk- gsk_ xai- sk_live_ rk_live_ sk_test_ whsec_",
        r"(?=[\w-]{0,80}\d)[A-Za-z0-9_-]{20,}",
    ),
    _token("Google key", "AIza", r"[\w-]{35}"),
    _token("Slack token", "xox xapp-", r"(?:(?<=xox)[abprs]-|(?<=xapp-))[\w-]{10,}", SHORT),
    _token("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    _token("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-AgE", r"[\w-]{50,}"),
    _token("SendGrid key", "SG.", r"[\w-]{20,24}\.[\w-]{40,45}"),
    _token(
        "access token",
        "dop_v1_ shpat_ dckr_pat_ ATATT3 hvs.",
        r"[\w.=-]{16,}",
    ),
    _token("Databricks token", "dapi", r"[0-9a-f]{32}"),
    _token("age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    _token("web token", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    Shape(
        "Slack hook",
        ("hooks.slack.com",),
        re.compile(r"hooks\.slack\.com/services/(?P<secret>[\w/]{20,})"),
        in_word=LONG,
    ),
    Shape(
        "Azure secret",
        ("Q~",),
        re.compile(r"(?<![\w~.-])(?P<secret>[\w~.-]{3}[78]Q~[\w~.-]{31,34})(?![\w~.-])"),
        in_word=LONG,
        sign="~",
    ),
    Shape(
        "header",
        ("uthorization", "UTHORIZATION", "earer "),
        re.compile(
            r"\b(?:authorization[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic|token)\s+)?|bearer\s+)"
            r"(?P<secret>(?=[\w.~+/-]{0,200}\d)[\w.~+/-]{16,}=*)",
            re.IGNORECASE,
        ),
    ),
    Shape(
        "password",
        ("://",),
        re.compile(
            r"://(?:[^\s/:@\"']{0,100}:(?!(?i:password|passwd|pass|pwd|secret|token|pw)@)|(?=[\w-]{20,200}@)(?=[\w-]*\d))"
            r"(?P<secret>[^\s/@\"'‹${}<>*]{3,200})@(?=[\w\[-])"
        ),
        sign="@",
    ),
    Shape(
        "password",
        ("machine ", "default login"),
        re.compile(r"(?:\bmachine\s+\S+|\bdefault)(?:\s+(?:login|account)\s+\S+)*\s+password\s+(?P<secret>[^\s‹]{3,})"),
    ),
)
