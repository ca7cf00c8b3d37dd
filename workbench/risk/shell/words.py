"""Words of a command line with their quotes removed, as far as they can be known; used by the scan and its tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from workbench.risk.shell.counting import DIGITS, NUMBERS, without_counts

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.origins import Origins

UNKNOWN = "\0"
"""Stands in a word for what only the shell will know; commands with a real NUL are refused before."""

_SUBSTITUTIONS = frozenset({"command_substitution", "arithmetic_expansion"})
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_DOUBLE_ESCAPE = re.compile(r'\\([$`"\\])')
_PATTERN = re.compile(r"(?<!\\)[*?\[]|(?<!\\)\{\S*?(?:,|\.\.)")
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_ANSI_LETTERS = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))
_ANSI_SIGNS = "\\'\"?"
_DEFAULT = re.compile(r"\$\{(\w+):?-")
_MAY_BE_PLAIN = frozenset({"word", "number", "command_name"})
_PLAIN = re.compile(r"[\w@%+=:,./-]+\Z", re.ASCII)


class Word(NamedTuple):
    """One word: its text (UNKNOWN for what is not known), and what the shell may still make of it."""

    text: str
    raw: str
    is_pattern: bool = False
    runs: bool = False
    """Whether a command inside it is run to make it."""

    @property
    def is_literal(self) -> bool:
        """Whether the text is what the command gets, to the letter."""
        return UNKNOWN not in self.text and not self.is_pattern

    @property
    def names_secret(self) -> bool:
        """Whether it holds a variable that by its name keeps a secret."""
        return "$" in self.raw and bool(_SECRET_VARIABLE.search(self.raw))


_SECRET_VARIABLE = re.compile(
    r"\$\{?\w*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_KEY|CREDENTIAL|ACCESS_KEY)", re.I
)


def literal(text: str) -> Word:
    """A word that means itself."""
    return Word(text, text)


class Reader:
    """Reads words of one source; `values` are the variables that are known."""

    def __init__(self, source: bytes, values: Mapping[str, str], origins: Origins) -> None:
        self.source = source
        self.values = values
        self.origins = origins

    def raw(self, node: Node) -> str:
        """The source text of a node."""
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def word(self, node: Node) -> Word:
        """The word of a node."""
        raw = self.raw(node)
        kind = node.type
        if kind in _MAY_BE_PLAIN and _PLAIN.match(raw):
            return Word(raw, raw)
        text, is_pattern, runs = self._read(node)
        if raw.startswith("~") and kind in {"word", "concatenation"}:
            text = self._home(text)
        return Word(text, raw, is_pattern, runs)

    def home(self) -> Word:
        """The home directory as `cd` takes it: the value of HOME, unknown where that is."""
        return Word(self.values.get("HOME", UNKNOWN), "~")

    def _home(self, text: str) -> str:
        name, slash, rest = text.partition("/")
        if name == "~":
            return self.values.get("HOME", UNKNOWN) + slash + rest
        return f"{UNKNOWN}{slash}{rest}" if name.startswith("~") else text

    def _read(self, node: Node) -> tuple[str, bool, bool]:
        """Text, whether it is a pattern, whether something runs."""
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
            return _ESCAPE.sub(_unescaped, raw), bool(_PATTERN.search(raw)), "`" in raw or "$(" in raw
        if kind in {"raw_string", "ansi_c_string"}:
            return raw[1:-1] if kind == "raw_string" else ansi_text(raw[2:-1]), False, False
        if kind in {"string", "translated_string"}:
            return self._string(node)
        if kind in {"concatenation", "command_name"}:
            return self._joined(node, raw)
        if kind in {"simple_expansion", "expansion"}:
            return self._value(raw)
        return self._substituted(kind, raw)

    def _substituted(self, kind: str, raw: str) -> tuple[str, bool, bool]:
        runs = kind == "command_substitution"
        if kind in _SUBSTITUTIONS and without_counts(raw) == "0":
            return DIGITS, True, runs
        return "/dev/fd/63" if kind == "process_substitution" else UNKNOWN, kind == "brace_expression", runs

    def _joined(self, node: Node, raw: str) -> tuple[str, bool, bool]:
        found = [self._read(child) for child in node.children]
        is_pattern = any(part[1] for part in found) or (
            "{" in raw and ("," in raw or ".." in raw) and "{" in _bare(node, self)
        )
        return "".join(part[0] for part in found), is_pattern, any(part[2] for part in found)

    def _string(self, node: Node) -> tuple[str, bool, bool]:
        """A double quoted string; what lies between its parts belongs to it too."""
        text, is_pattern, runs, at = "", False, False, node.start_byte
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
                text, is_pattern, runs = text + part[0], is_pattern or part[1], runs or part[2]
            elif child.type == "$" and node.end_byte > child.end_byte and at > node.start_byte + 1:
                text += "$"
        return text, is_pattern, runs

    def _value(self, raw: str, *, quoted: bool = False) -> tuple[str, bool, bool]:
        name = raw.strip("${}") if raw.startswith("$") else ""
        if name in self.values and raw in {f"${name}", f"${{{name}}}"}:
            return self.values[name], False, False
        if default := _DEFAULT.match(raw):
            return (self.values.get(default[1]) or UNKNOWN), False, "`" in raw or "$(" in raw
        pattern = DIGITS if name in NUMBERS else self.origins.pattern(name, quoted=quoted)
        if pattern:
            return pattern, True, False
        return UNKNOWN, False, "`" in raw or "$(" in raw


def _bare(node: Node, reader: Reader) -> str:
    """What stands unquoted in a concatenation."""
    return "".join(reader.raw(child) for child in node.children if child.type in {"word", "{", "}"})


def _unescaped(found: re.Match[str]) -> str:
    return found[1]


def ansi_text(inside: str) -> str:
    """What stands between `$'` and `'`, its escapes resolved."""
    return _ANSI.sub(_ansi, inside)


def _ansi(found: re.Match[str]) -> str:
    code = found[1]
    if code in _ANSI_LETTERS:
        return _ANSI_LETTERS[code]
    if code[0] in "xuU" and len(code) > 1:
        return _character(int(code[1:], 16))
    if code[0] in "01234567":
        return _character(int(code, 8))
    if code[0] == "c" and len(code) > 1:
        return UNKNOWN
    return code if code in _ANSI_SIGNS else f"\\{code}"


def _character(number: int) -> str:
    return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else UNKNOWN
