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
    in_word: bool = False
    """A match holds no blank and has SHORTEST_WORD signs at least, so its mark stands in so long a word."""
    begins: bool = False
    """A match begins with its mark."""

    def matches(self, text: str) -> list[re.Match[str]]:
        """All there are, none in another, in order."""
        if not self.begins:
            return list(self.pattern.finditer(text))
        found: list[re.Match[str]] = []
        for place in sorted(place for mark in self.marks for place in _places(text, mark)):
            if (match := self.pattern.match(text, place)) and (not found or place >= found[-1].end()):
                found.append(match)
        return found


SHORTEST_WORD = 14


_FREE = r"(?<![A-Za-z0-9_-])"
_SECRET = r"(?P<secret>[^\s\"'`,;<>‹›$(){}\[\]]{8,})"
_VARIABLE = r"[A-Z0-9_]*(?:API_?KEY|ACCESS_?KEY|SECRET_?KEY|PRIVATE_?KEY|SECRET|TOKEN|PASSWORD|PASSWD)"


def _token(name: str, marks: str, rest: str) -> Shape:
    beginnings = marks.split()
    either = "|".join(re.escape(mark) for mark in beginnings)
    pattern = re.compile(f"{_FREE}(?:{either}){rest}")
    return Shape(name, _shortest(beginnings), pattern, in_word=True, begins=True)


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
    _token("GitLab token", "glpat-", r"[\w-]{20,}"),
    _token("API key", "sk- gsk_ xai- sk_live_ rk_live_ sk_test_", r"(?=[\w-]{0,80}\d)[A-Za-z0-9_-]{20,}"),
    _token("Google key", "AIza", r"[\w-]{35}"),
    _token("Slack token", "xox xapp-", r"(?:(?<=xox)[abprs]-|(?<=xapp-))[\w-]{10,}"),
    _token("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    _token("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    _token("PyPI token", "pypi-AgE", r"[\w-]{50,}"),
    _token("SendGrid key", "SG.", r"[\w-]{20,24}\.[\w-]{40,45}"),
    _token("age key", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50,}"),
    _token("web token", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    Shape(
        "Slack hook",
        ("hooks.slack.com",),
        re.compile(r"hooks\.slack\.com/services/(?P<secret>[\w/]{20,})"),
        in_word=True,
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
    Shape("password", ("://",), re.compile(r"://[^\s/:@\"']{1,100}:(?P<secret>[^\s/@\"'‹$]{3,200})@")),
    Shape("password", ("machine ",), re.compile(r"machine\s+\S+\s+login\s+\S+\s+password\s+(?P<secret>\S{3,})")),
    Shape(
        "variable",
        ("KEY=", "TOKEN=", "SECRET=", "PASSWORD=", "PASSWD="),
        re.compile(
            rf"(?m)(?:^|(?<=[\s:+-]))(?P<name>{_VARIABLE})=[\"']?"
            rf"(?=\S*[0-9])(?=\S*[A-Za-z]){_SECRET}[\"']?[ \t]*(?:#.*)?\r?$"
        ),
        in_word=True,
    ),
)
