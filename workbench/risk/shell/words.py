"""Read the words of a command line, with quotes removed and braces expanded, as far as they are known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, product
from typing import TYPE_CHECKING, NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.word import UNKNOWN, Word

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.origins import Origins

DIGITS = "[0-9]*"
"""A number as a glob pattern."""
NUMBERS = frozenset(
    {"RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "UID", "EUID", "PPID", "LINENO", "BASHPID", "SHLVL", "OPTIND"}
)
_ARGUMENT = r"""(?:[^\s()'"|;&<>`$*?]|'[^']*'|"[^"`]*"|\\.)+"""
_DIGITS = r"(?:'|\")?(?:\^?\(?(?:\\d|\[0-9\]|\[\[:digit:\]\])[*+]?\)?\$?)+(?:'|\")?"
_COUNT = lazy_pattern(
    rf"(?:wc\s+-[lwcmL]+(?:\s*<\s*\S+)?|grep\s+(?![^|]*-\w*[rR])(?:-\w+\s+)*-\w*c\w*(?:\s+{_ARGUMENT}){{1,2}}|nproc|seq(?:\s+-?\d+)+|"
    r"date\s+(?:-u\s+)?[\"']?\+(?:[-_:.T]?%-?[sNYmdHMSjuVyFTR]){1,7}[\"']?|git\s+rev-list\s+(?:--\S+\s+)*--count\b[^|;&]*|"
    rf"stat\s+(?:-c\s*|-f\s*|--format=|--printf=)[\"']?%[asugiwWxXyYzZdhbB][\"']?(?:\s+{_ARGUMENT}|\s+\S+)|"
    r"id\s+-[ug]|tput\s+(?:cols|lines|colors)|ulimit\s+-\w|pgrep\s+(?:-\w+\s+)*-c\b[^|;&]*|getconf\s+_NPROCESSORS_\w+|"
    r"ps\s+[^|;&]*\s-o\s+(?:pid|ppid|rss|pcpu)=?(?:\s[^|;&]*)?|tr\s+-(?:dc|cd|d\s+-c)\s+'?\"?(?:0-9|\[:digit:\])'?\"?|"
    rf"grep\s+-\w*o\w*\s+(?:-\w+\s+)*{_DIGITS}(?:\s+{_ARGUMENT})?|sed\s+'s/\[\^0-9\]//g')\s*(?:2>\s*/dev/null)?"
)
_ELSE = lazy_pattern(r"(?:echo\s+)?[\"']?\d+[\"']?|true|:")
_CHARACTERS = lazy_pattern(r"\$\{#[^{}]*\}|\$[#?$!]|\$\{[#?$!]\}|\$\{?(?:" + "|".join(sorted(NUMBERS)) + r")\b\}?")
_INNER = lazy_pattern(r"""\$\((?!\()((?:[^()'"`]|'[^']*'|"[^"`]*"|\\[()])*)\)""")
_INNER_SUM = lazy_pattern(r"\$\(\((?:[^()]|\([^()]*\))*\)\)")


def without_counts(raw: str, *, sums: bool = True) -> str:
    """Return the source of a value, with a digit in place of each expansion that can only be a number.

    With `sums`, this includes `$((…))`.
    """
    if "$" not in raw:
        return raw
    text = _CHARACTERS.sub("0", raw)
    text = _INNER.sub(lambda match: "0" if _counts(match[1]) else match[0], text) if "$(" in text else text
    return _INNER_SUM.sub(_as_number, text) if sums and "$((" in text else text


def _counts(inside: str) -> bool:
    """Return whether the last command of a substitution prints a number, whatever its input."""
    if ";" in inside or "\n" in inside or "&&" in inside:
        return False
    last = re.split(r"(?<!\|)\|(?!\|)&?", re.sub(r"'[^']*\|[^']*'|\"[^\"]*\|[^\"]*\"", "x", inside))[-1]
    first, *others = re.split(r"\s*\|\|\s*", last.strip())
    return bool(_COUNT.fullmatch(first)) and all(
        re.fullmatch(r"(?:echo\s+)?[\"']?\d+[\"']?|true|:", each) for each in others
    )


def _as_number(match: re.Match[str]) -> str:
    return match[0] if re.search(r"\$\((?!\()|`", match[0]) else "0"


_SUBSTITUTIONS = frozenset({"command_substitution", "arithmetic_expansion"})
_ESCAPE = lazy_pattern(r"\\(.)", re.DOTALL)
_DOUBLE_ESCAPE = lazy_pattern(r'\\([$`"\\])')
_PATTERN = lazy_pattern(r"(?<!\\)[*?\[]|(?<!\\)\{\S*?(?:,|\.\.)")
_ANSI = lazy_pattern(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_ANSI_LETTERS = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))
_ANSI_CHARACTERS = "\\'\"?"
_DEFAULT = lazy_pattern(r"\$\{(\w+):?-")
_MAY_BE_PLAIN = frozenset({"word", "number", "command_name"})
_PLAIN = lazy_pattern(r"[\w@%+=:,./-]+\Z", re.ASCII)
_UNQUOTED_GLOB = lazy_pattern(r"(?<!\\)(?:\\\\)*[*?\[]")
_SEVERAL = lazy_pattern(r"\$@|\$\{(?:@|!?\w+\[@\]|!\w+@\})")
_UNSPLIT = lazy_pattern(r"[^\s*?\[]*\Z")
_BOUNDARY = "\1"
"""The placeholder for a space at which the shell splits a known value."""


class _Piece(NamedTuple):
    """The contribution of a word, or of a piece of one, to a `Word`."""

    text: str
    is_pattern: bool = False
    runs: bool = False
    splits: bool = False
    matches: bool = False


class WordReader:
    """Reads the words of one source; `values` are the known variables."""

    def __init__(self, source: bytes, values: Mapping[str, str], origins: Origins) -> None:
        self.source = source
        self.values = values
        self.origins = origins
        self._is_splitting = False

    def raw(self, node: Node) -> str:
        """Return the source text of a node."""
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def word(self, node: Node) -> Word:
        """Return the word of a node."""
        raw = self.raw(node)
        kind = node.type
        if kind in _MAY_BE_PLAIN and _PLAIN.match(raw):
            return Word(raw, raw)
        text, is_pattern, runs, splits, matches = self._read(node)
        if raw.startswith("~") and kind in {"word", "concatenation", "command_name"}:
            text = self._home(text)
        return Word(text, raw, is_pattern, runs, splits, matches)

    def split(self, node: Node, word: Word) -> list[Word]:
        """Return the words that the shell makes of the word of a node, if all values in it are known."""
        if not word.splits or word.runs or word.is_pattern or _QUOTE.search(word.raw):
            return [word]
        self._is_splitting = True
        text = self._read(node).text
        self._is_splitting = False
        if UNKNOWN in text:
            return [word]
        pieces = [each for each in text.split(_BOUNDARY) if each]
        if len(pieces) > _MOST:
            return [word]
        return [Word(each, word.raw, is_glob := bool(_GLOB.search(each)), False, False, is_glob) for each in pieces]

    def home(self) -> Word:
        """Return the home directory as used by `cd`: the value of HOME, or UNKNOWN."""
        return Word(self.values.get("HOME", UNKNOWN), "~")

    def tilde_path(self, raw: str) -> Word:
        """Return the word for source text that starts with a tilde."""
        return Word(UNKNOWN if _NOT_PLAIN.search(raw) else self._home(raw), raw)

    def _home(self, text: str) -> str:
        name, slash, rest = text.partition("/")
        if name == "~":
            return self.values.get("HOME", UNKNOWN) + slash + rest
        return f"{UNKNOWN}{slash}{rest}" if name.startswith("~") else text

    def _read(self, node: Node) -> _Piece:
        """Return the piece that a node stands for."""
        kind = node.type
        raw = self.raw(node)
        if kind in {
            "word",
            "number",
            "test_operator",
            "variable_name",
            "extglob_pattern",
            "regex",
            "special_variable_name",
        }:
            runs, matches = "`" in raw or "$(" in raw, bool(_UNQUOTED_GLOB.search(raw))
            is_pattern = matches or bool(_PATTERN.search(raw))
            return _Piece(_ESCAPE.sub(_unescaped, raw), is_pattern, runs, runs or (is_pattern and not matches), matches)
        if kind in {"raw_string", "ansi_c_string"}:
            return _Piece(raw[1:-1] if kind == "raw_string" else ansi_text(raw[2:-1]))
        if kind in {"string", "translated_string"}:
            return self._string(node)
        if kind in {"concatenation", "command_name"}:
            return self._joined(node, raw)
        if kind in {"simple_expansion", "expansion"}:
            return self._value(raw)
        return self._substituted(kind, raw)

    def _substituted(self, kind: str, raw: str) -> _Piece:
        runs = kind == "command_substitution"
        if kind in _SUBSTITUTIONS and without_counts(raw) == "0":
            return _Piece(DIGITS, True, runs)
        if kind == "process_substitution":
            return _Piece("/dev/fd/63")
        return _Piece(UNKNOWN, kind == "brace_expression", runs, kind != "arithmetic_expansion")

    def _joined(self, node: Node, raw: str) -> _Piece:
        result = [self._read(child) for child in node.children]
        has_braces = "{" in raw and ("," in raw or ".." in raw) and "{" in _bare(node, self)
        return _Piece(
            "".join(part.text for part in result),
            has_braces or any(part.is_pattern for part in result),
            any(part.runs for part in result),
            has_braces or any(part.splits for part in result),
            any(part.matches for part in result),
        )

    def _string(self, node: Node) -> _Piece:
        """Read a double-quoted string, including text between its child nodes; only `"$@"` becomes several words."""
        text, is_pattern, runs, splits, at = "", False, False, False, node.start_byte
        for child in node.children:
            text += self.source[at : child.start_byte].decode(errors="replace") if at > node.start_byte else ""
            at = child.end_byte
            if child.type == "string_content":
                raw = self.raw(child)
                runs = runs or "`" in raw.replace("\\`", "")
                text += _DOUBLE_ESCAPE.sub(r"\1", raw)
            elif child.is_named:
                is_value = child.type in {"simple_expansion", "expansion"}
                part = self._value(self.raw(child), quoted=True) if is_value else self._read(child)
                text, is_pattern, runs = text + part.text, is_pattern or part.is_pattern, runs or part.runs
                splits = splits or (is_value and bool(_SEVERAL.match(self.raw(child))))
            elif child.type == "$" and node.end_byte > child.end_byte and at > node.start_byte + 1:
                text += "$"
        return _Piece(text, is_pattern, runs, splits)

    def _value(self, raw: str, *, quoted: bool = False) -> _Piece:
        name = raw.strip("${}") if raw.startswith("$") else ""
        if name in self.values and raw in {f"${name}", f"${{{name}}}"}:
            return self._resolved(self.values[name], quoted=quoted)
        runs = "`" in raw or "$(" in raw
        if default := _DEFAULT.match(raw):
            value = self.values.get(default[1]) or UNKNOWN
            return self._resolved(value, quoted=quoted) if value != UNKNOWN else _Piece(value, False, runs, not quoted)
        pattern = DIGITS if name in NUMBERS else self.origins.pattern(name, quoted=quoted)
        if pattern:
            return _Piece(pattern, True)
        return _Piece(UNKNOWN, False, runs, not quoted and not _CHARACTERS.fullmatch(raw))

    def _resolved(self, value: str, *, quoted: bool) -> _Piece:
        """Return a known value; if unquoted and split by the shell, it is treated as unknown unless `split` handles
        it.
        """
        if _UNSPLIT.match(value):
            return _Piece(value)
        text = re.sub(r"[ \t\n]", _BOUNDARY, value) if self._is_splitting and not quoted else UNKNOWN
        return _Piece(text, False, False, not quoted)


def _bare(node: Node, reader: WordReader) -> str:
    """Return the unquoted text of a concatenation."""
    return "".join(reader.raw(child) for child in node.children if child.type in {"word", "{", "}"})


def _unescaped(match: re.Match[str]) -> str:
    return match[1]


def ansi_text(inside: str) -> str:
    """Return the text between `$'` and `'` with its escapes resolved."""
    return _ANSI.sub(_ansi, inside)


def _ansi(match: re.Match[str]) -> str:
    code = match[1]
    if code in _ANSI_LETTERS:
        return _ANSI_LETTERS[code]
    if code[0] in "xuU" and len(code) > 1:
        return _character(int(code[1:], 16))
    if code[0] in "01234567":
        return _character(int(code, 8))
    if code[0] == "c" and len(code) > 1:
        return UNKNOWN
    return code if code in _ANSI_CHARACTERS else f"\\{code}"


def _character(number: int) -> str:
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else UNKNOWN


_MOST = 64
"""The maximum number of words from one word; a word that expands to more is left unchanged and counts as unknown."""
_NOT_PLAIN = lazy_pattern(r"[\\'\"`$\s]|" + UNKNOWN)
_LIVE = lazy_pattern(r"\{[^\s]*?(?:,|\.\.)")
_RANGE = lazy_pattern(r"(?:([+-]?\d+)\.\.([+-]?\d+)|([A-Za-z])\.\.([A-Za-z]))(?:\.\.([+-]?\d+))?\Z", re.ASCII)
_PADDED = lazy_pattern(r"(?:\A| )-?0\d")
_MOST_DIGITS, _LARGEST = 50, 2**63 - 1
_GLOB = lazy_pattern(r"[*?\[]")
_QUOTE = lazy_pattern(r"['\"\\]")


def spread(words: Sequence[Word], home: str = "~") -> list[Word]:
    """Return the words with braces expanded, except in words with a quote, escape or variable.

    `home` replaces a tilde at the start of a resulting word, because bash expands tildes after braces.
    """
    if not any(word.is_pattern and "{" in word.raw for word in words):
        return list(words)
    result: list[Word] = []
    for word in words:
        strings = _expanded(word, home)
        result += [word] if strings is None else [_spread_word(word, text) for text in strings]
    return result


def _spread_word(word: Word, text: str) -> Word:
    is_glob = bool(_GLOB.search(text))
    return word._replace(text=text, is_pattern=is_glob, splits=False, matches=is_glob)


def is_open(word: Word) -> bool:
    """Return whether a word still contains braces that bash may expand."""
    return word.is_pattern and bool(_LIVE.search(word.raw))


def _expanded(word: Word, home: str) -> list[str] | None:
    if not is_open(word) or _NOT_PLAIN.search(word.raw) or len(word.raw) > 1_000 or word.raw.count("{") > 8:
        return None
    try:
        return [_at_home(text, home) for text in _strings(word.raw) if text]
    except _TooMany:
        return None


def _at_home(text: str, home: str) -> str:
    """Return the text with a leading tilde expanded; UNKNOWN stands for another user's home directory."""
    name, slash, rest = text.partition("/")
    if not name.startswith("~"):
        return text
    return f"{home if name == '~' else UNKNOWN}{slash}{rest}"


class _TooMany(Exception):
    """A word expands to more words than are considered."""


def _strings(text: str) -> list[str]:
    """Return all words to which the braces in a text expand. Raises _TooMany if there are too many."""
    start = text.find("{", 2 if text.startswith("{}") else 0)
    while start >= 0:
        end, commas = _group(text, start)
        if end > 0:
            choices = _choices(text[start + 1 : end], [at - start - 1 for at in commas])
            if choices is not None:
                rest = _strings(text[end + 1 :])
                if len(choices) * len(rest) > _MOST:
                    raise _TooMany
                return [text[:start] + one + other for one, other in product(choices, rest)]
        start = text.find("{", start + 1)
    return [text]


def _group(text: str, start: int) -> tuple[int, list[int]]:
    """Return the end of the brace group that starts at `start` (0 if it has none), and the indexes of its own commas.

    As in bash, a closing brace ends the group only after a comma or two dots of the group: `{a},b}` is `a}` and `b`.
    """
    depth = parts = 0
    commas: list[int] = []
    for at in range(start + 1, len(text)):
        sign = text[at]
        if sign == "}" and not depth and parts:
            return at, commas
        if sign == "{":
            depth += 1
        elif sign == "}" and depth:
            depth -= 1
        elif not depth and sign == ",":
            commas.append(at)
            parts += 1
        elif not depth and text.startswith("..", at) and text[at + 2 : at + 3] != "}":
            parts += 1
    return 0, []


def _choices(inside: str, commas: list[int]) -> list[str] | None:
    if not commas:
        return _sequence(inside)
    limits = [-1, *commas, len(inside)]
    pieces = [inside[one + 1 : other] for one, other in pairwise(limits)]
    result = [text for piece in pieces for text in _strings(piece)]
    if len(result) > _MOST:
        raise _TooMany
    return result


def _sequence(inside: str) -> list[str] | None:
    span = _span(inside)
    if span is None:
        return None
    if _length(span) > _MOST:
        raise _TooMany
    first, _, last = inside.partition("..")
    if first.isalpha():
        return [chr(each) for each in span]
    last = last.partition("..")[0]
    width = max(len(first), len(last)) if _PADDED.search(f"{first} {last}") else 0
    return [str(each).zfill(width) for each in span]


def _span(inside: str) -> range | None:
    """Return the numbers or character codes of a sequence, or None if the braces hold something else."""
    result = _RANGE.match(inside)
    if result is None:
        return None
    if len(inside) > _MOST_DIGITS:
        raise _TooMany
    numbers = [int(each) if each is not None else 1 for each in (result[1], result[2], result[5])]
    if any(abs(number) > _LARGEST for number in numbers):
        return None
    first, last, step = numbers
    if result[3] is not None:
        first, last = ord(result[3]), ord(result[4])
    step = abs(step) or 1
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)


def _length(span: range) -> int:
    """Return the length of a range, also if it is too long for `len`."""
    return (abs(span.stop - span.start) - 1) // abs(span.step) + 1


def count_of_words(text: str, depth: int = 0) -> int:
    """Return how many words the braces in a text expand to, without expanding them; quotes are not considered.

    A long or deeply nested text counts as if each innermost pair of braces multiplied the words.
    """
    if depth > 20 or len(text) > 2_000:
        return _product(_choices_in(inside) for inside in _INNERMOST.findall(text))
    count, start = 1, text.find("{")
    while start >= 0:
        end, commas = _group(text, start)
        if end > 0:
            count *= _count_of_choices(text[start + 1 : end], [at - start - 1 for at in commas], depth)
            start = end
        start = text.find("{", start + 1)
    return count


_INNERMOST = lazy_pattern(r"\{([^{}]*)\}")
_ENOUGH = 10**30


def _product(factors: Iterable[int]) -> int:
    """Return the product, or that of the first factors if it already exceeds _ENOUGH."""
    result = 1
    for factor in factors:
        result *= factor
        if result > _ENOUGH:
            break
    return result


def _choices_in(inside: str) -> int:
    return inside.count(",") + 1 if "," in inside else _count_of_sequence(inside) or 1


def _count_of_choices(inside: str, commas: list[int], depth: int) -> int:
    if commas:
        if "{" not in inside:
            return len(commas) + 1
        limits = [-1, *commas, len(inside)]
        return sum(count_of_words(inside[one + 1 : other], depth + 1) for one, other in pairwise(limits))
    return _count_of_sequence(inside) or count_of_words(inside, depth + 1)


def _count_of_sequence(inside: str) -> int:
    """Return the length of a sequence such as `1..9`; 0 if it is not one."""
    try:
        span = _span(inside)
    except _TooMany:
        return _ENOUGH
    return 0 if span is None else _length(span)
