"""Rules for programs that may print or compute without end, or until memory runs out."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from math import inf

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.programs import text, wrappers
from workbench.risk.programs.rule import Rule
from workbench.risk.shell.call import Call

_MOST_LINES = 10_000_000
_LONGEST_WAIT = 86_400
_PRINTS = "prints without end, or more than fits in memory"
_COMPUTES = "may compute without end"
_WAITS = "waits for more than a day"
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_WAIT = lazy_pattern(r"(\d+\.?\d*|\.\d+|(?i:inf(?:inity)?))([smhd]?)")
_WIDE = lazy_pattern(r"%[-+ #0']*(?:\d{7,}|\d*\.\d{7,})")
_TAKES_WIDTH = lazy_pattern(r"%[-+ #0']*(?:\d*\.)?\*")
_POWER = lazy_pattern(r"\^\s*(?![\s\d])|\^\s*\d{5,}|\^[^;\n]*\^|\b(?:while|for|define)\b")
_AWK_LOOP = lazy_pattern(r"while\s*\(\s*(?:[1-9]\d*|!0|\"[^\"]+\")\s*\)|for\s*\([^;()]*;\s*;")
_AWK_LEAVES = lazy_pattern(r"\b(?:exit|break|return|getline)\b")
_SED_LABEL = lazy_pattern(r"(?:^|[;{}\n])\s*:\s*([\w-]+)")
_SED_LINES = lazy_pattern(r"(?:^|[;{}\n$!\d/])\s*[NnqQdD](?=[;\s}]|$)")
_JQ_ENDLESS = lazy_pattern(
    r"\brepeat\s*\(|\b(?:until\s*\(\s*false|while\s*\(\s*true)\b|\brange\s*\([^)]*(?:\d{8,}|infinite)|\bdef\b"
)
_JQ_ENDS = lazy_pattern(r"\b(?:limit|first)\s*\(|\bbreak\b")


def _yes(call: Call) -> None:
    _unless_cut(call)


def _unless_cut(call: Call) -> None:
    if not call.scan.is_cut:
        call.raise_to("MEDIUM", _PRINTS)


def _seq(call: Call) -> None:
    """Rate seq by the number of lines it prints; arguments that are unknown are ignored."""
    numbers = [number for word in call.words if (number := _number(word.text)) is not None][-3:]
    if numbers and _count(numbers) > _MOST_LINES:
        _unless_cut(call)


def _count(numbers: list[Decimal]) -> float:
    """Return how many lines `seq LAST`, `seq FIRST LAST` or `seq FIRST STEP LAST` prints."""
    first, step = [*numbers[:-1], Decimal(1), Decimal(1)][:2] if len(numbers) > 1 else (Decimal(1), Decimal(1))
    if not all(each.is_finite() for each in numbers) or not step:
        return inf
    return float((numbers[-1] - first) / step)


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _shuf(call: Call) -> None:
    strings = [word.text for word in call.words]
    is_limited = any(re.match(r"-[a-z]*n|--head", each) for each in strings)
    ranges = re.findall(r"(\d+)-(\d+)", " ".join(strings))
    if not is_limited and any(re.match(r"-[ez]*r|--rep", each) for each in strings):
        _unless_cut(call)
    if not is_limited and any(int(last) - int(first) > _MOST_LINES for first, last in ranges):
        call.raise_to("MEDIUM", _PRINTS)


def _sleep(call: Call) -> None:
    for word in call.words:
        match = _WAIT.fullmatch(word.text)
        seconds = float(match[1]) * _UNITS[match[2] or "s"] if match else 0.0
        if seconds > _LONGEST_WAIT:
            call.raise_to("MEDIUM", _WAITS)


def _bc(call: Call) -> None:
    """Rate bc by the powers and loops in its input, as far as the input is known."""
    if _POWER.search(call.stdin or (call.scan.printed if call.piped else "")):
        call.raise_to("MEDIUM", _COMPUTES)


def _dc(call: Call) -> None:
    source = " ".join([*(word.text for word in call.words), call.stdin or ""])
    if re.search(r"[\^|?x<>=]", source):
        call.raise_to("MEDIUM", _COMPUTES)


def rate_format(call: Call) -> None:
    """Rate printf by the widths in its format."""
    strings = [word.text for word in call.words]
    wide = any(_WIDE.search(each) for each in strings)
    if wide or (any(map(_TAKES_WIDTH.search, strings)) and any(re.fullmatch(r"-?\d{7,}", each) for each in strings)):
        call.raise_to("MEDIUM", _PRINTS)


def _awk(call: Call) -> None:
    if any(_AWK_LOOP.search(word.text) and not _AWK_LEAVES.search(word.text) for word in call.words):
        _unless_cut(call)


def _sed(call: Call) -> None:
    for word in call.words:
        labels = _SED_LABEL.findall(word.text)
        jumps = [name for name in labels if re.search(rf"(?:^|[;\n}}])\s*b\s*{re.escape(name)}(?![\w-])", word.text)]
        if jumps and not _SED_LINES.search(word.text):
            call.raise_to("MEDIUM", _COMPUTES)


def _jq(call: Call) -> None:
    for word in call.words:
        if _JQ_ENDLESS.search(word.text) and not _JQ_ENDS.search(word.text):
            _unless_cut(call)


def _also(name: str, rule: Rule, more: Rule) -> Rule:
    assert callable(rule), name
    assert callable(more), name

    def rated(call: Call) -> None:
        more(call)
        rule(call)

    return rated


def _within_time(rule: Rule) -> Rule:
    """Return the rule of a wrapper that ends its command after a time, so that the command cannot be endless."""

    def rated(call: Call) -> None:
        outer, call.scan.is_cut = call.scan.is_cut, True
        try:
            rule(call)  # type: ignore[operator]
        finally:
            call.scan.is_cut = outer

    return rated


_MORE = {
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("sed", "gsed"), _sed),
    **dict.fromkeys(("jq", "gojq", "jaq"), _jq),
    "dc": _dc,
}
RULES: dict[str, Rule] = {
    "yes": _yes,
    "seq": _seq,
    "shuf": _shuf,
    "sleep": _sleep,
    "bc": _bc,
    **{name: _also(name, text.RULES[name], rule) for name, rule in _MORE.items()},
    **{name: _within_time(wrappers.RULES[name]) for name in ("timeout", "gtimeout")},
}
