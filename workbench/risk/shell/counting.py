"""What prints nothing but numbers: `$#`, `${#x}`, `$(wc -l < f)`; used where bash reckons with values."""

from __future__ import annotations

import re

DIGITS = "[0-9]*"
"""A number as a pattern of the shell."""
NUMBERS = frozenset(
    {"RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "UID", "EUID", "PPID", "LINENO", "BASHPID", "SHLVL", "OPTIND"}
)
_ARGUMENT = r"""(?:[^\s()'"|;&<>`$*?]|'[^']*'|"[^"`]*"|\\.)+"""
_DIGITS = r"(?:'|\")?(?:\^?\(?(?:\\d|\[0-9\]|\[\[:digit:\]\])[*+]?\)?\$?)+(?:'|\")?"
_COUNT = re.compile(
    rf"(?:wc\s+-[lwcmL]+(?:\s*<\s*\S+)?|grep\s+(?![^|]*-\w*[rR])(?:-\w+\s+)*-\w*c\w*(?:\s+{_ARGUMENT}){{1,2}}|nproc|seq(?:\s+-?\d+)+|"
    r"date\s+(?:-u\s+)?[\"']?\+(?:[-_:.T]?%-?[sNYmdHMSjuVyFTR]){1,7}[\"']?|git\s+rev-list\s+(?:--\S+\s+)*--count\b[^|;&]*|"
    rf"stat\s+(?:-c\s*|-f\s*|--format=|--printf=)[\"']?%[asugiwWxXyYzZdhbB][\"']?(?:\s+{_ARGUMENT}|\s+\S+)|"
    r"id\s+-[ug]|tput\s+(?:cols|lines|colors)|ulimit\s+-\w|pgrep\s+(?:-\w+\s+)*-c\b[^|;&]*|getconf\s+_NPROCESSORS_\w+|"
    r"ps\s+[^|;&]*\s-o\s+(?:pid|ppid|rss|pcpu)=?(?:\s[^|;&]*)?|tr\s+-(?:dc|cd|d\s+-c)\s+'?\"?(?:0-9|\[:digit:\])'?\"?|"
    rf"grep\s+-\w*o\w*\s+(?:-\w+\s+)*{_DIGITS}(?:\s+{_ARGUMENT})?|sed\s+'s/\[\^0-9\]//g')\s*(?:2>\s*/dev/null)?"
)
_ELSE = re.compile(r"(?:echo\s+)?[\"']?\d+[\"']?|true|:")
_SIGNS = re.compile(r"\$\{#[^{}]*\}|\$[#?$!]|\$\{[#?$!]\}|\$\{?(?:" + "|".join(sorted(NUMBERS)) + r")\b\}?")
_INNER = re.compile(r"""\$\((?!\()((?:[^()'"`]|'[^']*'|"[^"`]*"|\\[()])*)\)""")
_INNER_SUM = re.compile(r"\$\(\((?:[^()]|\([^()]*\))*\)\)")


def without_counts(raw: str, *, sums: bool = True) -> str:
    """The source of a value with a digit in the place of what can only be a number."""
    if "$" not in raw:
        return raw
    text = _SIGNS.sub("0", raw)
    text = _INNER.sub(lambda found: "0" if _counts(found[1]) else found[0], text) if "$(" in text else text
    return _INNER_SUM.sub(_as_number, text) if sums and "$((" in text else text


def _counts(inside: str) -> bool:
    """Whether the last command of a substitution prints a number, whatever comes in."""
    if ";" in inside or "\n" in inside or "&&" in inside:
        return False
    last = re.split(r"(?<!\|)\|(?!\|)&?", re.sub(r"'[^']*\|[^']*'|\"[^\"]*\|[^\"]*\"", "x", inside))[-1]
    first, *others = re.split(r"\s*\|\|\s*", last.strip())
    return bool(_COUNT.fullmatch(first)) and all(
        re.fullmatch(r"(?:echo\s+)?[\"']?\d+[\"']?|true|:", each) for each in others
    )


def _as_number(found: re.Match[str]) -> str:
    return found[0] if re.search(r"\$\((?!\()|`", found[0]) else "0"
