"""Detects the encoding of a text: byte order mark, UTF-8, a declaration in the text, then the most plausible encoding.

An encoding is accepted only if encoding the decoded text gives the same bytes, so that an edit changes nothing else.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from workbench.files.script_plausibility import most_plausible_script, plausibility
from workbench.lazy_pattern import lazy_pattern

_BOMS: Final = (  # the longer ones first: UTF-32 begins like UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS: Final = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\b\x1b")
_ASCII: Final = bytes(range(0x80))
_C1: Final = bytes(range(0x80, 0xA0))
_SAMPLE = 1_200
"""The maximum number of bytes, in non-ASCII lines, on which possible encodings are compared."""
_BEGINNING = 512
"""The number of bytes that are compared first, before the whole text."""
_CLEAR = 2.0
"""The plausibility of a text whose script is beyond doubt."""
_FEWEST = 3
"""The minimum number of characters needed to distinguish text from binary data."""


@dataclass(frozen=True)
class Coding:
    """The encoding of a text, its byte order mark, and how the encoding was determined unless that is certain."""

    encoding: str = "utf-8"
    bom: bytes = b""
    source: str = field(default="", compare=False)

    def decode(self, raw: bytes) -> str:
        """Return the text of the bytes, with its line ends unchanged. Raises UnicodeDecodeError."""
        return raw[len(self.bom) :].decode(self.encoding)

    def encode(self, text: str) -> bytes:
        """Return the bytes of the text. Raises UnicodeEncodeError for a character that the encoding lacks."""
        return self.bom + text.encode(self.encoding)

    def reading(self, raw: bytes) -> str | None:
        """Return the text of the bytes; None if it cannot be converted back to exactly these bytes."""
        try:
            text = self.decode(raw)
            # Strict UTF-8 always survives a round trip; for other encodings it is checked.
            return text if self.encoding == "utf-8" or self.encode(text) == raw else None
        except UnicodeError:
            return None


UTF_8: Final = Coding()


def readings(raw: bytes) -> Iterator[tuple[Coding, str]]:
    """Yield each possible encoding with the decoded text, the most likely first; nothing for binary data and damaged
    UTF-8.
    """
    for coding in _codings(raw):
        text = coding.reading(raw)
        if text is not None and (coding.encoding != "utf-8" or "\0" not in text):
            yield coding, text


def reading_as(raw: bytes, text: str) -> Coding | None:
    """Return an encoding in which these bytes are exactly this text; None if there is none."""
    for coding, reading in readings(raw):
        if reading == text:
            return coding
    for encoding in (*_ENCODINGS, "latin-1", "utf-16-le", "utf-16-be"):
        coding = Coding(encoding, source="guessed")
        begins_so = raw[:_BEGINNING].decode(encoding, "ignore")[: _BEGINNING // 8] == text[: _BEGINNING // 8]
        if begins_so and coding.reading(raw) == text:
            return coding
    return None


def has_binary_data(raw: bytes) -> bool:
    """Return whether the bytes contain control characters that no text has."""
    return b"\0" in raw or len(raw.translate(None, _CONTROLS)) < len(raw)


def _codings(raw: bytes) -> Iterator[Coding]:
    yield from (Coding(encoding, bom) for bom, encoding in _BOMS if raw.startswith(bom))
    if b"\0" in raw:
        yield from _wide(raw)
        return
    if raw.isascii():
        yield from _of_ascii(raw)
        yield UTF_8
        return
    yield UTF_8
    if has_binary_data(raw):
        yield from _wide(raw)
        return
    declared = _declared(raw)
    if declared:
        yield from (Coding(encoding, source="declared") for encoding in _with_superset(declared))
    yield from _guessed(raw)


def _of_ascii(raw: bytes) -> Iterator[Coding]:
    """Yield the encodings that ASCII bytes may have besides UTF-8: ISO-2022-JP if they contain its escape sequence, and
    the encoding that the text declares, which matters for characters that are added.
    """
    if b"\x1b" in raw and b"\x1b$" in raw:  # to look for one byte first is far quicker
        yield Coding("iso2022_jp", source="guessed")
    declared = _declared(raw)
    if declared:
        yield Coding(declared, source="declared")


# Encodings that a text declares.

_NAME = rb"[ \t]*[\"']?([A-Za-z][\w.:-]{1,30})"
_HEAD, _TAIL = 1_024, 512
_TWO_LINES = rb"\A(?:[^\n]*\n)?"
_DECLARATIONS: Final = tuple(
    (word, lazy_pattern(pattern, re.IGNORECASE))
    for word, pattern in (
        (b"coding", _TWO_LINES + rb"[ \t\f]*#[^\n]*?coding[:=]" + _NAME),  # Python (PEP 263), Ruby
        (b"coding", _TWO_LINES + rb"[^\n]*-\*-[^\n]*?coding:" + _NAME + rb"[^\n]*-\*-"),  # Emacs
        (b"enc", rb"(?:^|\n)[^\n]*\b(?:vim?|ex):[^\n]*\b(?:fileencoding|fenc)=" + _NAME),
        (b"coding", rb"\A\s*<\?xml[^>]*?\bencoding=" + _NAME),
        (b"charset", rb"\A\s*<[^\0]*?<meta\b[^>]*?\bcharset=" + _NAME),
        (b"charset", rb"\A@charset[ ]" + _NAME),
        (b"inputenc", rb"(?:^|\n)[ \t]*\\usepackage\[" + _NAME + rb"\]\{inputenc\}"),
        (b"charset", rb"(?:^|\n)msgid \"\"[^\0]*?\"Content-Type:[^\n]*?charset=" + _NAME),  # gettext
    )
)
"""Patterns, each with a word that every match contains; most texts contain none of the words, so none is tried."""
_WORDS: Final = frozenset(word for word, _ in _DECLARATIONS)
_NO_TEXT: Final = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7"})
_TEX_NAMES: Final = {"ansinew": "cp1252", "applemac": "mac_roman", "latin9": "iso8859-15"}
_SUPERSETS: Final = {
    "iso8859-1": "cp1252",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "gb2312": "gbk",
    "gbk": "gb18030",
    "big5": "cp950",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
}


def _declared(raw: bytes) -> str:
    """Return the encoding that the text declares in its first or last lines, or an empty string.

    A declaration is ignored if it is unknown or wrong, such as UTF-16 in ASCII bytes, or if it says UTF-8.
    """
    head = raw if len(raw) <= _HEAD + _TAIL else raw[:_HEAD] + b"\n" + raw[-_TAIL:]
    lower = head.lower()
    words = [word for word in _WORDS if word in lower]
    for word, pattern in _DECLARATIONS if words else ():
        match = pattern.search(head) if word in words else None
        if match is None:
            continue
        encoding = _codec(match[1].decode("ascii", "replace").lower())
        if encoding:
            return encoding
    return ""


def _codec(name: str) -> str:
    """Return the codec of a declared name; empty if it is unknown, not a superset of ASCII, or UTF-8."""
    for label in (name, name.removesuffix("-unix").removesuffix("-dos"), _TEX_NAMES.get(name, "")):
        try:
            codec = codecs.lookup(label) if label else None
            if codec is not None and b"abc =#<>-".decode(codec.name) == "abc =#<>-":
                return "" if codec.name in {"utf-8", "utf-8-sig", "ascii"} | _NO_TEXT else _display_name(codec.name)
        except (LookupError, UnicodeError):
            continue
    return ""


def _display_name(codec: str) -> str:
    return "latin-1" if codec == "iso8859-1" else codec


def _with_superset(encoding: str) -> Iterator[str]:
    """Yield the encoding and then its supersets, which have the same characters and more."""
    while encoding:
        yield encoding
        encoding = _SUPERSETS.get("iso8859-1" if encoding == "latin-1" else encoding, "")


# UTF-16 and UTF-32 without a byte order mark.


def _wide(raw: bytes) -> Iterator[Coding]:
    """Yield the encoding if the bytes are a text in UTF-32 or UTF-16: no controls, and one script is plausible."""
    for encoding, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        if len(raw) % width:
            continue
        coding = Coding(encoding, source="guessed")
        text = coding.reading(raw)
        if text and _is_text(text):
            yield coding
            return


def _is_text(text: str) -> bool:
    if not text.isprintable() and any(_is_no_text(character) for character in text if not character.isprintable()):
        return False
    sample = text[:_SAMPLE]
    ascii_share = sum(character.isascii() for character in sample) / len(sample)
    if ascii_share > 0.8:
        return True
    return most_plausible_script(sample) > (0.5 if ascii_share else _CLEAR) and len(sample) >= _FEWEST


def _is_no_text(character: str) -> bool:
    """Return whether an unprintable character never occurs in text: a control character other than whitespace,
    backspace and escape, or a code point that is unassigned, for private use, or a surrogate.
    """
    return character not in "\t\n\v\f\r\b\x1b" and unicodedata.category(character) in {"Cc", "Cn", "Co", "Cs"}


# Guesses by plausibility.

_ENCODINGS: Final = {
    "cp1252": ("western", 0.6),
    "cp1251": ("cyrillic", 0.6),
    "shift_jis": ("japanese", 0.3),
    "cp932": ("japanese", 0.0),
    "euc_jp": ("japanese", 0.0),
    "gbk": ("simplified", 0.4),
    "gb18030": ("simplified", 0.0),
    "big5": ("traditional", 0.1),
    "cp950": ("traditional", 0.0),
    "euc_kr": ("korean", 0.2),
    "cp949": ("korean", 0.0),
    "koi8-r": ("cyrillic", 0.5),
    "koi8-u": ("cyrillic", 0.0),
    "cp1250": ("central", 0.0),
    "iso8859-2": ("central", -0.1),
    "cp1253": ("greek", -0.5),
    "iso8859-7": ("greek", -0.6),
    "cp1254": ("turkish", 0.0),
    "cp1255": ("hebrew", 0.1),
    "iso8859-8": ("hebrew", 0.0),
    "cp1256": ("arabic", 0.1),
    "iso8859-6": ("arabic", 0.0),
    "cp1257": ("baltic", -0.3),
    "tis-620": ("thai", 0.0),
    "cp874": ("thai", -0.1),
    "cp866": ("cyrillic", 0.0),
    "iso8859-15": ("western", -0.3),
    "iso8859-5": ("cyrillic", -0.2),
    "mac_cyrillic": ("cyrillic", -0.4),
}
"""The encodings that are tried, with the script of their texts, and a preference with the weight of one character."""
_CLOSE = 0.03


def _guessed(raw: bytes) -> Iterator[Coding]:
    """Yield the plausible encodings, the best first, and a Western one in any case; nothing for damaged UTF-8."""
    scores = dict(_scores(_sample(raw)))
    if _is_damaged_utf8(raw) and max(scores.values(), default=0.0) < _CLEAR:
        return
    for encoding in _ranked(scores, raw):
        yield Coding(_western(raw) if encoding == "cp1252" else encoding, source="guessed")
    yield Coding(_western(raw), source="guessed")


def _western(raw: bytes) -> str:
    return "cp1252" if len(raw.translate(None, _C1)) < len(raw) else "latin-1"


def _sample(raw: bytes) -> bytes:
    """Return the first lines that are not ASCII, about 1,200 bytes.

    Splitting at newlines cuts no character, because none of the encodings has a newline byte inside of a character.
    """
    if len(raw) <= _SAMPLE:
        return raw
    lines, size = [], 0
    for match in re.finditer(rb"[^\n]{0,400}[\x80-\xff][^\n]{0,400}", raw):
        lines.append(_whole_line(raw, match))
        size += len(lines[-1])
        if size > _SAMPLE:
            break
    return b"\n".join(lines)


def _whole_line(raw: bytes, match: re.Match[bytes]) -> bytes:
    start = raw.rfind(b"\n", max(0, match.start() - _SAMPLE), match.start() + 1) + 1
    return raw[max(start, match.start()) : match.end()]


def _scores(sample: bytes) -> Iterator[tuple[str, float]]:
    for encoding, (script, preference) in _ENCODINGS.items():
        try:
            text = sample.decode(encoding)
        except UnicodeDecodeError:
            continue
        count = sum(not character.isascii() for character in text)
        yield encoding, plausibility(text, script) + preference / max(count, 1)
    if len(sample) % 2 == 0:
        yield from _wide_scores(sample)


def _wide_scores(sample: bytes) -> Iterator[tuple[str, float]]:
    for encoding in ("utf-16-le", "utf-16-be"):
        try:
            yield encoding, most_plausible_script(sample.decode(encoding)) - 0.5
        except UnicodeDecodeError:
            continue


def _ranked(scores: dict[str, float], raw: bytes) -> list[str]:
    """Return the plausible encodings in order; charset-normalizer chooses among those that are equally plausible."""
    order = sorted((encoding for encoding, score in scores.items() if score > 0), key=lambda each: -scores[each])
    if not order:
        return _by_normalizer(_sample(raw), scores)
    close = [encoding for encoding in order if scores[order[0]] - scores[encoding] < _CLOSE]
    if len(close) > 1 and len({_sample(raw).decode(each) for each in close}) > 1:
        first = _by_normalizer(_sample(raw), close)
        order = [*first, *(encoding for encoding in order if encoding not in first)]
    return order


def _by_normalizer(sample: bytes, encodings: Iterable[str]) -> list[str]:
    """Return a list with the encoding that charset-normalizer considers the most likely of these; empty if none is.

    Unless restricted to these encodings, charset-normalizer takes short texts for EBCDIC.
    """
    from charset_normalizer import from_bytes

    allowed = {codecs.lookup(encoding).name.replace("-", "_"): encoding for encoding in encodings}
    best = from_bytes(sample, cp_isolation=list(allowed)).best() if allowed else None
    return [allowed[best.encoding]] if best is not None and best.encoding in allowed else []


_UTF8 = lazy_pattern(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


def _is_damaged_utf8(raw: bytes) -> bool:
    """Return whether more than half of the non-ASCII bytes form UTF-8 characters, as in UTF-8 that is damaged."""
    high = len(raw.translate(None, _ASCII))
    return 2 * sum(len(match) for match in _UTF8.findall(raw)) > high
