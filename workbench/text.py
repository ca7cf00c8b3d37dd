"""Text from outside made safe to show, to store and to send; called by every layer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

from workbench import look_alikes

HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
"""C0 (but tab and newline), DEL, C1, bidirectional and invisible signs, tags: for a set of a pattern."""
_UNSAFE = re.compile(f"[{HIDDEN}]")
_UNSAFE_OR_BREAK = re.compile(f"[{HIDDEN}\n\t]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def visible(text: str, *, lines: bool = True) -> str:
    """The text with every control, bidirectional and invisible character as an escape that can be seen.

    Newlines and tabs stay, unless `lines` is false: then the result is a single line.
    """
    return (_UNSAFE if lines else _UNSAFE_OR_BREAK).sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    sign = match.group()
    return sign if sign == "\u200d" and _joins_emoji(match) else _code(sign)


_EMOJI = re.compile("[\u2194\u2195\u2640\u2642\u2695\u2696\u26a7\u26d3\u2708\u2764\u27a1\u2b1b\U0001f300-\U0001faff]")


def _joins_emoji(match: re.Match[str]) -> bool:
    """Whether a zero-width joiner makes one emoji of two, as in a family: that hides nothing."""
    text, at = match.string, match.start()
    before = text[:at].rstrip("\ufe0f")[-1:] if text[at - 1 : at] == "\ufe0f" else text[at - 1 : at]
    return bool(_EMOJI.match(before) and _EMOJI.match(text, at + 1))


def _code(sign: str) -> str:
    if sign in _NAMES:
        return _NAMES[sign]
    code = ord(sign)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_LETTERS = re.compile(r"[^\W\d_]+")
_ODD = re.compile(r"[^\x00-\x7f]")
_FLAG_DASH = re.compile(r"(?<!\S)[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+(?=[^\W\d_])")
_LIKE_LATIN = frozenset({"CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE", "LISU"})
"""Scripts with letters that look like Latin ones."""
_WRITTEN_TODAY = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "HEBREW", "ARABIC", "GEORGIAN", "ETHIOPIC", "LATIN"})
"""Scripts of whose letters only the closest twins count in a word of its own: many common words would be escapes."""
_TWINS = frozenset(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d\u04cf"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd\u03f2\u03f3"
    "\u0578\u057d\u0585\u0581\u0570\u0584"
)
"""Cyrillic, Greek and Armenian letters that are drawn as a Latin one: a word of these alone reads as another word."""
_LATIN_TWINS = frozenset(
    "\u0131\u0237\u0251\u0261\u0269\u026a\u0280\u028f\u0262\u0274\u029f\u029c\u0299\u01c0\u017f"
    "\u1d00\u1d04\u1d05\u1d07\u1d0a\u1d0b\u1d0d\u1d0f\u1d18\u1d1b\u1d1c\u1d20\u1d21\u1d22\ua731\ua730\ua7af\ua7ae"
)
"""Latin letters that are drawn as one of ASCII: without a dot, small capitals, those of phonetics."""
_OVERLAY = re.compile(
    "[\u0334-\u0338\u0488\u0489\u20d2-\u20d4\u20d8-\u20da\u20dd-\u20e0\u20e2\u20e4-\u20e6\u20ea\u20eb]|"
    "(?<![\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff0-9#*])[\ufe0e\ufe0f]"
)
"""Signs that are drawn over the letter before, and a choice of how a sign is drawn behind what has no other way."""
_DRAWN_ANYHOW = frozenset({"Zs", "Cf", "Cn", "Co"})
"""Kinds of signs that are drawn as nothing, or as a font likes: blanks, formats, private and unassigned ones."""
_STROKES = frozenset("\u2044\u2215\u29f8\u29f5\u2216\u2236\ua789\u01c3\u2217\u2223")
"""Signs of sums and of phonetics that are drawn as `/`, `\\`, `:`, `!`, `*` and `|`."""


def revealed(text: str, *, lines: bool = True) -> str:
    """As `visible`, for commands and paths that are asked about: letters that look like others are escapes too, and
    blanks that are none.

    A word in one script stays as it is, unless all of it could be read as Latin, or it is written from right to left
    and an operator would be drawn on its other side.
    """
    if not text.isascii():
        text = _pattern(look_alikes.ACCENTS).sub(
            _codes, _pattern(look_alikes.REORDERED).sub(_in_order, _OVERLAY.sub(_codes, text))
        )
        text = _FLAG_DASH.sub(
            _codes, _ODD.sub(_sign, _LETTERS.sub(_word, _pattern(look_alikes.FOREIGN_DIGITS).sub(_codes, text)))
        )
    return visible(text, lines=lines)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """A pattern that is compiled when it is first needed: the first frame has no time for the large ones."""
    return re.compile(text)


def _word(found: re.Match[str]) -> str:
    word = found.group()
    if word.isascii():
        return word
    if not _LATIN_TWINS.isdisjoint(word) and all(sign < "\x80" or sign in _LATIN_TWINS for sign in word):
        return "".join(_code(sign) if sign in _LATIN_TWINS else sign for sign in word)
    word = _without_modifiers(word)
    if _is_mixed(word) or _reads_as_ascii(word):
        word = _pattern(look_alikes.LETTERS).sub(_codes, word)
    return word if word.isascii() else _in_scripts(word)


def _is_mixed(word: str) -> bool:
    """Whether letters of ASCII stand beside those of another script."""
    return any(sign < "\x80" for sign in word) and any(sign >= "\x80" and _script(sign) != "LATIN" for sign in word)


def _reads_as_ascii(word: str) -> bool:
    """Whether all of a word in a script that few can read is drawn as ASCII."""
    return all(_pattern(look_alikes.LETTERS).match(sign) for sign in word) and not any(
        _script(sign) in _WRITTEN_TODAY for sign in word
    )


def _without_modifiers(word: str) -> str:
    """A word with escapes for modifier letters that are drawn as ASCII; in other scripts they are letters like all."""
    others = {_script(sign) for sign in word if unicodedata.category(sign) != "Lm"}
    if others and "LATIN" not in others:
        return word
    return "".join(_code(sign) if sign >= "\x80" and _modifies(sign) else sign for sign in word)


def _modifies(sign: str) -> bool:
    kind, _, codes = unicodedata.decomposition(sign).partition(" ")
    is_small = kind in ("<super>", "<sub>") and codes.strip() != "" and int(codes.split()[0], 16) < 0x7F
    return unicodedata.category(sign) == "Lm" and (is_small or bool(_pattern(look_alikes.SIGNS).match(sign)))


def _in_order(found: re.Match[str]) -> str:
    """Words from right to left around an operator are drawn in another order than they run in."""
    text = found.group()
    return (
        "".join(_code(sign) if sign >= "\x80" else sign for sign in text)
        if _pattern(look_alikes.OPERATORS).search(text)
        else text
    )


def _in_scripts(word: str) -> str:
    """A word of one script as it is; one of several, or of twins alone, with escapes."""
    scripts = {_script(sign) for sign in word} - {"MODIFIER"}
    if scripts.isdisjoint(_LIKE_LATIN):
        return word
    if len(scripts) > 1 and "LATIN" in scripts:
        return "".join(_code(sign) if _script(sign) in _LIKE_LATIN else sign for sign in word)
    return "".join(map(_code, word)) if len(scripts) > 1 or _TWINS.issuperset(word) else word


def _sign(found: re.Match[str]) -> str:
    sign = found.group()
    if _pattern(look_alikes.SIGNS).match(sign) and not sign.isalpha():
        before = found.string[found.start() - 1 : found.start()]
        is_own = before >= "\x80" and _script(before) == _script(sign)  # punctuation of the script it stands in
        return sign if is_own else _code(sign)
    return _code(sign) if _deceives(sign) else sign


@lru_cache(4096)
def _deceives(sign: str) -> bool:
    """Whether a sign stands for no letter of a script and is drawn as nothing, or as one of ASCII."""
    if sign in _STROKES or sign in "\u2800\ufffc" or unicodedata.category(sign) in _DRAWN_ANYHOW:
        return sign != "\u200d"  # it joins emoji; elsewhere it is one of the hidden signs
    kind, *codes = unicodedata.decomposition(sign).split() or [""]
    if not kind.startswith("<"):
        kind, codes = "", [kind, *codes]
    return (
        len(codes) == 1 and kind not in ("<super>", "<sub>", "<circle>") and codes[0] != "" and int(codes[0], 16) < 0x7F
    )


@lru_cache(4096)
def _script(sign: str) -> str:
    """The script of a letter, as its name begins; those that belong to all count as Latin."""
    return unicodedata.name(sign, "").partition(" ")[0]


def _codes(found: re.Match[str]) -> str:
    return "".join(map(_code, found.group()))


def well_formed(text: str) -> str:
    """The text without lone surrogates and NUL, so that it can be stored as UTF-8 and sent to a model."""
    return _SURROGATE.sub("\ufffd", text).replace("\x00", "\ufffd")


def cut_middle(text: str, limit: int) -> str:
    """At most about `limit` characters: head and tail at whole lines, and how many lines are left out between."""
    if len(text) <= limit:
        return text
    head = _to_line_end(text, limit // 2)
    tail = _to_line_start(text, len(text) - limit // 2)
    lines = text.count("\n", head, tail)
    said = f"[… {lines} lines left out …]" if lines > 1 else f"[… {tail - head} characters left out …]"
    return f"{text[:head]}{'' if text[:head].endswith(chr(10)) else chr(10)}{said}\n{text[tail:]}"


def _to_line_end(text: str, at: int) -> int:
    cut = text.rfind("\n", at // 2, at)
    return cut + 1 if cut >= 0 else at


def _to_line_start(text: str, at: int) -> int:
    cut = text.find("\n", at, at + (len(text) - at) // 2)
    return cut + 1 if cut >= 0 else at


def first_line(text: str, width: int = 80, show: Callable[..., str] = visible) -> str:
    """The first line that says something, safe to show, at most `width` characters; `revealed` for commands."""
    line = next((part for part in text.splitlines() if part.strip()), "").strip()
    shown = show(line, lines=False)
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def counted(count: int, what: str) -> str:
    """How many there are: `1 file`, `2 files`, `1,200 files`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
