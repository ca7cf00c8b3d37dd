"""Rules for what may differ between two runs of the same action, such as times and process ids.

Every rule replaces its matches with a fixed name; two texts are treated as equal if they are equal after that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from workbench.lazy_pattern import lazy_pattern


class Variation(NamedTuple):
    """Text that may differ: every match of `pattern` is replaced with `replacement`."""

    name: str
    pattern: Any
    replacement: str


def _rule(name: str, pattern: str, replacement: str) -> Variation:
    return Variation(name, lazy_pattern(pattern), replacement)


_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY: Final = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"
_ZONE: Final = r"(?: ?(?:[AP]M|UTC|GMT|[A-Z]{3,4}|[+-]\d{4}))*"
_UNIT: Final = r"(?:[nµum]?s|secs?|seconds?|milliseconds?|min|mins|minutes?|hours?)"
_LISTED: Final = r"(?m)^({}[rwxsStT-]{{9}}[.+@]?)"  # a file as `ls -l` prints it
_RANDOM: Final = r"pytest-of-[^/\s]+/pytest-\d+|[\w.-]*?tmp[\w.-]*|[\w-]+[.-]\w{6,}"
RULES: Final = (
    _rule("times", r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?", "<time>"),
    _rule("times", rf"\b{_DAY},? (?:{_MONTH} +\d+|\d+ {_MONTH})[ ,\d:]*{_ZONE}(?: \d{{4}})?", "<time>"),
    _rule("times", rf"\b{_MONTH} +\d{{1,2}} +(?:\d\d:\d\d|\d{{4}})\b", "<time>"),
    _rule("times", r"\b\d{4}-\d\d-\d\d\b", "<time>"),
    _rule("times", r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
    _rule("times", r"\b1[6-9]\d{8}(?:\d{3}|\d{9})?(?:\.\d+)?\b", "<time>"),
    _rule("durations", r"\b\d+m\d+(?:\.\d+)?s\b", "<duration>"),
    _rule("durations", rf"(?<![\w.])\d+(?:\.\d+)? ?{_UNIT}\b", "<duration>"),
    _rule("pids", r"(?i)\b(pids?|process(?: id)?|ppid)([ =:#]{1,3})\d+", r"\1\2<pid>"),
    _rule("pids", r"(?m)^(\[\d+\][+-]?) +\d+\b", r"\1 <pid>"),
    _rule("ports", r"(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):\d{2,5}\b", r"\1:<port>"),
    _rule("ports", r"(?i)\b(ports?)([ =:]{1,2})\d{2,5}\b", r"\1\2<port>"),
    _rule("temporary paths", rf"<temp>/(?:{_RANDOM})", "<temp>/<name>"),
    _rule("addresses in memory", r"\b0x[0-9a-f]{6,16}\b", "<address>"),
    _rule("ids of commits", r"(?m)^(commit )[0-9a-f]{7,40}\b", r"\1<commit>"),
    _rule("ids of commits", r"(?m)^(\[[\w./-]+(?: \([\w-]+\))? )[0-9a-f]{7,12}\]", r"\1<commit>]"),
    _rule("ids of commits", r"(?m)^([*|/\\ ]*)[0-9a-f]{7,12}(?= [(\w])", r"\1<commit>"),
    _rule("files with a whole output", r"/output-[0-9a-f]{8}\.", "/output-<id>."),
    _rule("directories in a listing", r"(?m)^total \d+(?:\.\d+)?[KMGT]?(?=\n[-dlbcps][r-][w-])", "total <blocks>"),
    _rule("directories in a listing", rf"{_LISTED.format('d')} +\d+ +(\S+) +(\S+) +\d+ ", r"\1 <links> \2 \3 <size> "),
    _rule("columns of a listing", rf"{_LISTED.format('[-lbcps]')} +(\d+) +(\S+) +(\S+) +(\d+) ", r"\1 \2 \3 \4 \5 "),
    _rule("the directory above", r"(?m)^d[\w-]{9}\S? .* \.\.$", "<above> .."),
    _rule("the interpreter of the shell", r"\[Python interpreter: [^\]\n]+\]", "[Python interpreter: <path>]"),
    _rule("random ids", r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", "<id>"),
    _rule("lines drawn to the width of the terminal", r"([=_─-])\1{3,}", r"\1\1\1"),
)  # fmt: skip
"""The rules, in the order in which they apply. The names of directories are replaced before them."""
FIELDS: Final = frozenset({"pid", "duration", "elapsed", "started_at", "ended_at", "py_interpreter_path"})
"""The fields of an observation that may differ."""
_EDGE: Final = r"(?<![\w.~-]){}(?![\w-]|\.\w)"


class Normalizer:
    """Applies the rules to texts and observations."""

    def __init__(self, directories: Mapping[str, str] | None = None) -> None:
        """`directories` maps directories of both runs, such as the workspaces, to the name that replaces them."""
        self._directories = [
            Variation("directories", lazy_pattern(_EDGE.format(re.escape(path))), name.replace("\\", "\\\\"))
            for path, name in sorted((directories or {}).items(), key=lambda item: -len(item[0]))
        ]

    def text(self, text: str) -> str:
        """Return the text with everything that may differ replaced with a name."""
        for rule in (*self._directories, *RULES):
            text = rule.pattern.sub(rule.replacement, text)
        return text

    def lines(self, value: object, pids: Sequence[int] = ()) -> Iterator[tuple[str, str]]:
        """Yield every line of an observation twice: as it is, and as it is compared.

        `pids` are the process ids of the shells of both runs; they are replaced in the compared lines.
        """
        process = rf"\b(?:{'|'.join(map(str, pids))})\b"
        lines = list(named_lines(value))
        for (name, line), (_, following) in zip(lines, [*lines[1:], ("", "")], strict=True):
            label = f"{name}: " if name else ""
            text = re.sub(process, "<pid>", line) if pids else line
            # Whether a total is that of a listing shows in the line after it.
            text = (
                self.text(f"{text}\n{following}").partition("\n")[0] if text.startswith("total ") else self.text(text)
            )
            yield label + line, label + text


def named_lines(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name of a field and a line of it, for each line of an observation; FIELDS are omitted.

    A text block has no name of its own.
    """
    match value:
        case str():
            yield from ((name, line) for line in value.splitlines())
        case Mapping() if value.get("type") == "text":
            yield from named_lines(value.get("text"))
        case Mapping():
            for key, part in value.items():
                if key not in FIELDS:
                    yield from named_lines(part, f"{name}.{key}".lstrip("."))
        case Sequence():
            for part in value:
                yield from named_lines(part, name)
        case _:
            yield name, str(value)
