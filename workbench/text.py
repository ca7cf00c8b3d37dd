"""Functions that make external text safe to show, to store and to send; used by all packages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

from workbench.lazy_pattern import lazy_pattern

LETTERS = (
    "["
    "\u0131\u0184\u018d\u0196\u01a6\u01a7\u01b7\u01bc\u01bd\u01c0\u01c3\u021c\u0222\u0223\u0241\u0251\u0261\u0263"
    "\u0269\u026a\u026f\u028b\u028f\u0294\u037f\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1"
    "\u03a4\u03a5\u03a7\u03b1\u03b3\u03b9\u03bd\u03bf\u03c1\u03c3\u03c5\u03d2\u03dc\u03e8\u03f1-\u03f3"
    "\u03f9\u03fa\u0405\u0406\u0408\u0410\u0412\u0415\u0417\u041a\u041c-\u041e\u0420-\u0423\u0425\u042c"
    "\u0430\u0431\u0433\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0461\u0474\u0475\u04ae\u04af\u04bb"
    "\u04bd\u04c0\u04cf\u04e0\u0501\u050c\u051b-\u051d\u054d\u054f\u0555\u0561\u0563\u0566\u0570\u0578"
    "\u057c\u057d\u0581\u0584\u0585\u097d\u0b20\u0d20\u101d\u10e7\u10ff\u1200\u12d0\u13a0-\u13a2\u13a5"
    "\u13a9-\u13ac\u13ae\u13b3\u13b7\u13bb\u13bd\u13c0\u13c2\u13c3\u13ce\u13cf\u13d2\u13d4\u13d5\u13d9\u13da"
    "\u13de\u13df\u13e2\u13e6\u13e7\u13ee\u13f3\u13f4\u142f\u1433\u1438\u144a\u144c\u146d\u146f\u1472\u148d\u14aa"
    "\u14bf\u1515\u1541\u157c\u157d\u1587\u15af\u15b4\u15c5\u15de\u15e9\u15ea\u15f0\u15f7\u16b2\u16b7\u16c1\u16cc\u16d5\u16d6"
    "\u1d04\u1d0f\u1d11\u1d1c\u1d20-\u1d22\u1d26\u1d83\u1d8c\u1e9d\u1eff\u1fbe\u213d\u2c85\u2c8e\u2c92\u2c94"
    "\u2c98\u2c9a\u2c9e\u2c9f\u2ca2-\u2ca6\u2ca8\u2cac\u2cba\u2cc6\u2cca\u2ccc\u2cd0\u2cd2\u2d38\u2d39\u2d4f"
    "\u2d51\u2d54\u2d55\u2d5d\u3007\u30ce\ua4d0-\ua4d4\ua4d6\ua4d7\ua4d9\ua4da\ua4dc\ua4dd\ua4df-\ua4e3"
    "\ua4e6\ua4e7\ua4ea-\ua4ec\ua4ee\ua4f0\ua4f2-\ua4f4\ua644\ua647\ua6df\ua6eb\ua6ef\ua731\ua75a\ua76a\ua76e"
    "\ua778\ua78c\ua798\ua799\ua79f\ua7ab\ua7b2-\ua7b4\uab32\uab35\uab3d\uab47\uab48\uab4e\uab52\uab5a\uab75"
    "\uab81\uab83\uab93\uaba9\uabaa\uabaf\U00010282\U00010286\U00010287\U0001028a\U00010290\U00010292"
    "\U00010295-\U00010297\U0001029b\U000102a0-\U000102a2\U000102a5\U000102ab\U000102b0-\U000102b2\U000102b4"
    "\U000102cf\U00010300-\U00010302\U00010309\U00010311\U00010315\U00010317\U0001031a\U0001031f\U00010404"
    "\U00010415\U0001041b\U00010420\U0001042c\U0001043d\U00010448\U000104b4\U000104c2\U000104ce\U000104d2"
    "\U000104ea\U000104f6\U00010513\U00010516\U00010518\U0001051c\U0001051d\U00010525-\U00010527\U00011706"
    "\U0001170a\U0001170e\U0001170f\U000118a0\U000118a2-\U000118a4\U000118a6\U000118a9\U000118ac"
    "\U000118ae\U000118af\U000118b2\U000118b5\U000118b8\U000118bb\U000118bc\U000118c0-\U000118c4\U000118c6"
    "\U000118c8\U000118ca\U000118cc\U000118d5-\U000118d8\U000118dc\U00016f08\U00016f0a\U00016f16\U00016f28"
    "\U00016f35\U00016f3a\U00016f3b\U00016f3f\U00016f40\U00016f42\U00016f43"
    "]"
)
"""A character set of the letters, of any script, that look like ASCII."""
SYMBOLS = (
    "["
    "\u00a6\u00b4\u00b8\u01c3\u02b9-\u02be\u02c2-\u02c4\u02c6\u02c8\u02ca\u02cb\u02d0\u02d7\u02db\u02dc\u02ee\u02f4"
    "\u02f8\u0374\u037a\u0384\u055a\u055d\u0589\u05c0\u05c3\u05f3\u05f4\u066a\u066d\u0701\u0703\u07f4\u07f5\u07fa\u1400\u166d\u166e\u16ec\u16ed\u1735"
    "\u1fbd\u1fbf\u1fc0\u1ffd\u1ffe\u2016\u2010\u2011\u201a\u201b\u2024\u2025\u2032\u2033\u2035\u2036\u2038\u203c\u203f\u2041"
    "\u2043-\u2049\u204e\u204f\u2052\u2053\u205a\u205d\u212e\u2215-\u2217\u2223\u2225\u2236\u223c\u223d"
    "\u227a\u227b\u22d5\u22ff\u239c\u23ae\u23b9\u23bd\u23d0\u23aa\u23fd\u2502\u2503\u254e\u254f\u2571-\u2573\u2731\u26b9\u2758-\u275a\u2768-\u2775\u27cb"
    "\u27d9\u27e8\u27e9\u27ee\u27ef\u292b\u292c\u2983\u2984\u29f5\u29f8\u29f9\u2a2f\u2a75\u2aaa\u2aab\u2afd\u2d70"
    "\u2e31\u2e32\u2e34\u2e40\u30a0\ua4f8-\ua4ff\ua60c\ua60e\ua789\ufd3e\ufd3f\ufe31\ufe58\uffe4\uffe8\U00010a50\U0001d001\U0001d114"
    "\U0001d206\U0001d20d\U0001d20f\U0001d212\U0001d213\U0001d216\U0001d22a\U0001d236\U0001d237"
    "\U0001d23a\U0001d23b\U0001f74c\U0001f768\U0001f7f0"
    "]"
)
"""A character set of the punctuation, symbols and modifier letters that look like ASCII."""
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
ACCENTS = f"(?<![^\\W\\d_{_MARKS}])(?<![0-9#*]\ufe0f)(?<![{_MARKS}])[{_MARKS}]+|(?<=[{_MARKS}]{{2}})[{_MARKS}]+"
"""Matches accents that do not follow a letter, and all but the first two accents on a letter."""
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
REORDERED = f"[{_RIGHT_TO_LEFT}](?:(?:[^\\w\\n]|_|[\\d{_RIGHT_TO_LEFT}])*[\\d{_RIGHT_TO_LEFT}])?"
"""Matches a run that is drawn from right to left: it starts with a right-to-left letter and ends
with one or a digit.
"""
OPERATORS = r"[|&;<>()=$`*?{}\[\]!#~\\/]|(?<!\w)-"
FOREIGN_DIGITS = r"(?<=[A-Za-z0-9])(?![0-9])\d|(?![0-9])\d(?=[A-Za-z0-9])"
"""Matches digits of other scripts next to ASCII letters or digits."""


HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
"""C0 (without tab and newline), DEL, C1, bidirectional and invisible characters and tags; for use inside `[…]` in a
regex.
"""
_UNSAFE = lazy_pattern(f"[{HIDDEN}]")
_UNSAFE_OR_BREAK = lazy_pattern(f"[{HIDDEN}\n\t]")
_SURROGATE = "[\ud800-\udfff]"
_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def visible(text: str, *, lines: bool = True) -> str:
    """Return the text with every control, bidirectional and invisible character replaced by an escape.

    Newlines and tabs are kept if `lines` is true; if it is false, they become escapes and the result is one line.
    """
    if text.isascii() and text.isprintable():
        return text  # found out far sooner than by searching it
    return (_UNSAFE if lines else _UNSAFE_OR_BREAK).sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    sign = match.group()
    return sign if sign == "\u200d" and _joins_emoji(match) else _code(sign)


_EMOJI = "[\u2194\u2195\u2640\u2642\u2695\u2696\u26a7\u26d3\u2708\u2764\u27a1\u2b1b\U0001f300-\U0001faff]"


def _joins_emoji(match: re.Match[str]) -> bool:
    """Return whether a matched zero-width joiner joins two emoji into one, such as a family: there it hides nothing."""
    text, at = match.string, match.start()
    before = text[:at].rstrip("\ufe0f")[-1:] if text[at - 1 : at] == "\ufe0f" else text[at - 1 : at]
    return bool(_pattern(_EMOJI).match(before) and _pattern(_EMOJI).match(text, at + 1))


def _code(sign: str) -> str:
    if sign in _NAMES:
        return _NAMES[sign]
    code = ord(sign)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_LETTERS = r"[^\W\d_]+"
_ODD = r"[^\x00-\x7f]"
_FLAG_DASH = (
    r"(?<!\S)[\u058a\u1173\u2010-\u2015\u2043\u2212\u23af\u2500\u2501\u2796\u2e3a\u2e3b\u30fc\u3161\u4e00\ufe58\ufe63\uff0d\uff70]+"
    r"(?=[A-Za-z])"
)
_STROKE = "[\u07ca\u1175\u2f01-\u2f03\u3021\u3033\u30ce\u3163\u31d0-\u31d4\u4e28\u4e36\u4e3f]"
_STROKE_ALONE = rf"(?<![^\W\d_A-Za-z]){_STROKE}(?![^\W\d_A-Za-z])"
"""Matches a letter of one stroke, drawn like `|`, `/`, `\\` or `-`, that belongs to no word."""
_LIKE_LATIN = frozenset({"CYRILLIC", "GREEK", "COPTIC", "ARMENIAN", "CHEROKEE", "LISU"})
"""The scripts that have letters drawn like Latin ones."""
_WRITTEN_TODAY = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "HEBREW", "ARABIC", "GEORGIAN", "ETHIOPIC", "LATIN"})
"""Scripts in wide use: a word in such a script is escaped only if it is made of `_TWINS`; common words must stay
readable.
"""
_TWINS = frozenset(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d\u04cf"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd\u03f2\u03f3"
    "\u0578\u057d\u0585\u0581\u0570\u0584"
)
"""Cyrillic, Greek and Armenian letters drawn like Latin ones; a word of only these reads as a Latin word."""
_LATIN_TWINS = frozenset(
    "\u0131\u0237\u0251\u0261\u0269\u026a\u0280\u028f\u0262\u0274\u029f\u029c\u0299\u01c0\u01c1\u01c2\ua78c\u017f"
    "\u1d00\u1d04\u1d05\u1d07\u1d0a\u1d0b\u1d0d\u1d0f\u1d18\u1d1b\u1d1c\u1d20\u1d21\u1d22\ua731\ua730\ua7af\ua7ae"
)
"""Latin letters that are drawn like ASCII ones: dotless letters, small capitals and phonetic letters."""
_OVERLAY = (
    "[\u0334-\u0338\u0488\u0489\u20d2-\u20d4\u20d8-\u20da\u20dd-\u20e0\u20e2\u20e4-\u20e6\u20ea\u20eb]|"
    "(?<![\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff0-9#*])[\ufe0e\ufe0f]"
)
"""Matches marks drawn over the letter before them, and variation selectors after characters without variants."""
_DRAWN_ANYHOW = frozenset({"Zs", "Cf", "Cn", "Co"})
"""Unicode categories of characters that are invisible or depend on the font: space, format, unassigned, private use."""
_STROKES = frozenset("\u2044\u2215\u29f8\u29f5\u2216\u2236\ua789\u01c3\u2217\u2223")
"""Mathematical, phonetic and similar characters that are drawn like `/`, `\\`, `:`, `!`, `*` and `|`."""


def revealed(text: str, *, lines: bool = True) -> str:
    """Return the text as `visible` does, but also escape look-alike letters and all spaces except the ordinary one.

    This is for commands and paths that need approval. A word in one script is not changed, unless all of it could be
    read as Latin, or it is written from right to left, so that an operator next to it would appear on the wrong side.
    """
    if not text.isascii():
        text = _pattern(ACCENTS).sub(_codes, _pattern(REORDERED).sub(_in_order, _pattern(_OVERLAY).sub(_codes, text)))
        text = _pattern(_LETTERS).sub(_word, _pattern(FOREIGN_DIGITS).sub(_codes, text))
        text = _pattern(_STROKE_ALONE).sub(_codes, _pattern(_FLAG_DASH).sub(_codes, text))
        text = _pattern(_ODD).sub(_symbol, text)
    return visible(text, lines=lines)


def visible_path(path: str) -> str:
    """Return a path on one line, as `revealed` does, in a form in which no two paths look alike.

    Three more things are escaped: a backslash, by doubling it, a space at either end, and a character that looks like
    another one, such as an accent that is a separate character. Apply this function only once.
    """
    if path.isascii() and path.isprintable() and "\\" not in path and path == path.strip(" "):
        return path
    text = path.replace("\\", "\\\\")
    if not unicodedata.is_normalized("NFC", text):
        text = "".join(map(_composed, text))
    stripped = revealed(text, lines=False).strip(" ")
    before, after = len(text) - len(text.lstrip(" ")), len(text) - len(text.rstrip(" "))
    return f"{_SPACE * before}{stripped}{_SPACE * after if stripped else ''}"


_SPACE = "\\x20"


def _composed(sign: str) -> str:
    """Return a character, or its escape if it is a mark or is drawn like another character."""
    is_own = unicodedata.normalize("NFC", sign) == sign and not unicodedata.combining(sign)
    return sign if is_own else _code(sign)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Return the compiled pattern. It is compiled on first use, because the large ones would delay the first frame."""
    return re.compile(text)


def _word(match: re.Match[str]) -> str:
    word = match.group()
    if word.isascii():
        return word
    if not _LATIN_TWINS.isdisjoint(word) and all(sign < "\x80" or sign in _LATIN_TWINS for sign in word):
        return "".join(_code(sign) if sign in _LATIN_TWINS else sign for sign in word)
    word = _without_modifiers(word)
    if _is_mixed(word) or _reads_as_ascii(word):
        word = _pattern(LETTERS).sub(_codes, word)
    return word if word.isascii() else _in_scripts(word)


def _is_mixed(word: str) -> bool:
    """Return whether the word has both ASCII letters and letters of a script other than Latin."""
    return any(sign < "\x80" for sign in word) and any(sign >= "\x80" and _script(sign) != "LATIN" for sign in word)


def _reads_as_ascii(word: str) -> bool:
    """Return whether all letters of the word are drawn like ASCII and none belongs to a script in wide use."""
    return all(_pattern(LETTERS).match(sign) for sign in word) and not any(
        _script(sign) in _WRITTEN_TODAY for sign in word
    )


def _without_modifiers(word: str) -> str:
    """Return the word with escapes for modifier letters that are drawn like ASCII.

    A word in scripts other than Latin is not changed: modifier letters are ordinary letters there.
    """
    others = {_script(sign) for sign in word if unicodedata.category(sign) != "Lm"}
    if others and "LATIN" not in others:
        return word
    return "".join(_code(sign) if sign >= "\x80" and _modifies(sign) else sign for sign in word)


def _modifies(sign: str) -> bool:
    kind, _, codes = unicodedata.decomposition(sign).partition(" ")
    is_small = kind in ("<super>", "<sub>") and codes.strip() != "" and int(codes.split()[0], 16) < 0x7F
    return unicodedata.category(sign) == "Lm" and (is_small or bool(_pattern(SYMBOLS).match(sign)))


def _in_order(match: re.Match[str]) -> str:
    """Return a right-to-left run with its letters as escapes if it contains an operator, otherwise unchanged.

    Otherwise, the words around the operator would be drawn in a different order from the one in which they are
    executed.
    """
    text = match.group()
    return (
        "".join(_code(sign) if sign >= "\x80" else sign for sign in text) if _pattern(OPERATORS).search(text) else text
    )


def _in_scripts(word: str) -> str:
    """Return the word, with escapes if it mixes scripts whose letters look Latin, or consists of `_TWINS` alone."""
    scripts = {_script(sign) for sign in word} - {"MODIFIER"}
    if scripts.isdisjoint(_LIKE_LATIN):
        return word
    if len(scripts) > 1 and "LATIN" in scripts:
        return "".join(_code(sign) if _script(sign) in _LIKE_LATIN else sign for sign in word)
    return "".join(map(_code, word)) if len(scripts) > 1 or _TWINS.issuperset(word) else word


def _symbol(match: re.Match[str]) -> str:
    sign = match.group()
    if _pattern(SYMBOLS).match(sign) and not sign.isalpha():
        before = match.string[match.start() - 1 : match.start()]
        # punctuation of the surrounding script, but not after another character of this kind
        is_own = before >= "\x80" and before.isalpha() and _script(before) == _script(sign)
        return sign if is_own else _code(sign)
    return _code(sign) if _deceives(sign) else sign


_LONG_S = frozenset({"017F", "02BC"})
"""Code points in the decomposition of ligatures that are drawn like ASCII: the long s and the apostrophe."""


@lru_cache(4096)
def _deceives(sign: str) -> bool:
    """Return whether a character is invisible, depends on the font, or looks like an ASCII character."""
    if sign in _STROKES or sign in "\u2800\ufffc" or unicodedata.category(sign) in _DRAWN_ANYHOW:
        return sign != "\u200d"  # the zero-width joiner joins emoji; anywhere else `visible` escapes it
    kind, *codes = unicodedata.decomposition(sign).split() or [""]
    if not kind.startswith("<"):
        kind, codes = "", [kind, *codes]
    if kind in ("<super>", "<sub>", "<circle>") or not codes[0]:
        return False
    is_ligature = kind == "<compat>" and sign.isalpha()
    return (len(codes) == 1 or is_ligature) and all(int(code, 16) < 0x7F or code in _LONG_S for code in codes)


@lru_cache(4096)
def _script(sign: str) -> str:
    """Return the script of a letter: the first word of its Unicode name, or an empty string if it has no name."""
    return unicodedata.name(sign, "").partition(" ")[0]


def _codes(match: re.Match[str]) -> str:
    return "".join(map(_code, match.group()))


def well_formed(text: str) -> str:
    """Return the text with lone surrogates and NUL replaced, so that it can be stored as UTF-8 and sent to a model."""
    return _pattern(_SURROGATE).sub("\ufffd", text).replace("\x00", "\ufffd")


def cut_exactly(text: str, limit: int) -> str:
    """Return the text, cut to exactly `limit` characters if it is longer.

    What remains is its head, a note of the omission, and its tail; if there is no room for the note, only the head. A
    limit of 0 means no limit.
    """
    if not limit or len(text) <= limit:
        return text
    notice = _omission(text, 0, len(text))
    for _ in range(4):  # the note's length depends on the number in it, and the number on that length
        rest = limit - len(notice)
        if rest < 2:
            return text[:limit]
        head, tail = rest - rest // 2, len(text) - rest // 2
        before, notice = notice, _omission(text, head, tail)
        if len(before) == len(notice):
            break
    rest = limit - len(notice)
    return f"{text[: rest - rest // 2]}{notice}{text[len(text) - rest // 2 :]}"


def _omission(text: str, head: int, tail: int) -> str:
    lines = text.count("\n", head, tail)
    return f"\n[… {lines} lines omitted …]\n" if lines > 1 else f"\n[… {tail - head} characters omitted …]\n"


def cut_middle(text: str, limit: int) -> str:
    """Return the text; if it is longer than `limit` characters, only its head and tail, with a note of the omission.

    The cuts are at line ends if possible. The result may be slightly longer than `limit`.
    """
    if len(text) <= limit:
        return text
    head = _to_line_end(text, limit // 2)
    tail = _to_line_start(text, len(text) - limit // 2)
    lines = text.count("\n", head, tail)
    notice = f"[… {lines} lines omitted …]" if lines > 1 else f"[… {tail - head} characters omitted …]"
    return f"{text[:head]}{'' if text[:head].endswith(chr(10)) else chr(10)}{notice}\n{text[tail:]}"


def _to_line_end(text: str, at: int) -> int:
    cut = text.rfind("\n", at // 2, at)
    return cut + 1 if cut >= 0 else at


def _to_line_start(text: str, at: int) -> int:
    cut = text.find("\n", at, at + (len(text) - at) // 2)
    return cut + 1 if cut >= 0 else at


def first_line(text: str, width: int = 80, show: Callable[..., str] = visible) -> str:
    """Return the first line that is not blank, made safe by `show` and cut to `width` characters."""
    line = next((part for part in text.splitlines() if part.strip()), "").strip()
    safe = show(line, lines=False)
    return safe if len(safe) <= width else safe[: width - 1] + "…"


def size_of(count: int) -> str:
    """Format a number of bytes in kB, MB or GB."""
    if count >= 1_000_000_000:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:.1f} MB" if count >= 1_000_000 else f"{max(1, round(count / 1e3))} kB"


def counted(count: int, what: str) -> str:
    """Return a count with its noun: `1 file`, `2 files`, `1,200 files`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"
