"""Finds commands that never end or fill the memory: loops, brace expansions, and pipelines in which nothing stops
reading.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Part, shortened
from workbench.risk.paths import words
from workbench.risk.reason import Reason, Trait
from workbench.risk.shell.words import count_of_words

if TYPE_CHECKING:
    from tree_sitter import Node

    from workbench.risk.shell.scan import Scan

MOST_WORDS = 1_000_000
"""The number of words to which the braces of a line may expand; more take the shell more than 100 MB."""
_FEW_COMMAS = 15
"""With at most this many commas, braces expand to at most 32,768 words."""
NO_END = Reason("may repeat without end", Trait.REPEATS)
_TOO_MANY = "expands to so many words that memory may run out"
_LEAVES = lazy_pattern(r"(?<![\w.-])(?:break|exit|return|exec|kill)(?![\w-])")
_ALWAYS = lazy_pattern(
    r"(?:true|:|sleep\s+[\w.]+|echo\b[^|;&]*|printf\b[^|;&]*|date\b[^|;&]*|\(\(\s*[1-9]\d*\s*\)\)"
    r"|\[\[?\s+[\w\"'-]+\s+\]\]?|test\s+\w+|!\s*false)\s*;?\s*"
)
_NEVER = lazy_pattern(r"(?:false|!\s*(?:true|:)|\(\(\s*0\s*\)\))\s*;?\s*")
_COUNTS_FAR = lazy_pattern(r"[<>]=?\s*\d{8,}|=\s*\d{8,}")
_BODY = lazy_pattern(r"\bdo\b|(?<=\)\))\s*[;{]")
_QUOTED = lazy_pattern(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|\$\w+|\$\{[^{}]*\}", re.DOTALL)
_WORD = lazy_pattern(r"[^\s;|&()<>`]+")
_WHOLE = words(
    "sort tac wc tail shuf tsort column md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum sponge "
    "bc dc factor cmp diff comm"
)
"""Filters that print nothing before their input ends."""
_PASS_ON = words(
    "cat rev nl uniq tr cut paste join fold fmt expand unexpand od xxd hexdump hd base64 base32 grep egrep fgrep rg "
    "sed awk gawk mawk nawk tee strings jq numfmt iconv less more xargs parallel pv lolcat"
)
"""Filters that read to the end of their input and print as they read."""
_HEAD_ALL = lazy_pattern(r"\s(?:-[a-z]*[nc]|--lines|--bytes)(?![= ]*\d{1,9}[kKM]?(?![\w.]))")
_QUITS = lazy_pattern(r"\s['\"]?\d+\s*q['\"]?(?=\s|$)")


def is_cut(stages: list[tuple[str, str]]) -> bool:
    """Return whether one of these stages of a pipeline stops reading before its input ends.

    A stage is the type of its node and its text.
    """
    for kind, text in stages:
        name = text.split(None, 1)[0].rpartition("/")[2]
        if kind not in {"command", "redirected_statement"}:
            if re.search(rf"{_LEAVES.pattern}|\bhead\b", text):
                return True
        elif name in {"head", "ghead"}:
            return not _HEAD_ALL.search(text)
        elif name in _WHOLE:
            return False
        elif name not in _PASS_ON:
            return True  # it answers a program that asks, or is not read at all
        elif name in {"sed", "gsed"} and _QUITS.search(text):
            return True
    return False


def loop(scan: Scan, node: Node) -> None:
    """Rate a loop whose condition never changes and that no command in it leaves."""
    text = scan.reader.raw(node)
    if scan.is_cut or _LEAVES.search(text):
        return
    head = _BODY.split(text, maxsplit=1)[0].rstrip().removesuffix(";").rstrip()
    keyword, _, condition = head.partition(" ")
    pattern = {"while": _ALWAYS, "until": _NEVER}.get(keyword)
    is_endless = pattern is not None and pattern.fullmatch(condition.strip()) is not None
    if is_endless or (node.type == "c_style_for_statement" and _counts_on(head)):
        scan.parts.append(Part(shortened(text), "MEDIUM", NO_END))


def _counts_on(head: str) -> bool:
    """Return whether `for ((start; condition; step))` has no condition, or a very high limit."""
    parts = head[head.find("((") + 2 : head.rfind("))")].split(";")
    return len(parts) == 3 and (not parts[1].strip() or bool(_COUNTS_FAR.search(parts[1])))


def braces(scan: Scan, text: str) -> None:
    """Rate words whose braces expand to more words than memory may hold."""
    if text.count(",") > _FEW_COMMAS or ".." in text:
        plain = _QUOTED.sub("q", text)
        braced = (word for word in _WORD.findall(plain) if "{" in word and "}" in word)
        total = sum(count for word in braced if (count := count_of_words(word)) > 1)
        if total > MOST_WORDS:
            scan.parts.append(Part(shortened(text), "MEDIUM", _TOO_MANY))
