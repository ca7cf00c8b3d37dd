"""What the words of any program say of it: verbs and flags that destroy, and the question for its help."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.risk.paths import words
from workbench.risk.shell.words import Word

_DESTROYS = (
    "delete|destroy|drop|purge|prune|rm|remove|revoke|reset|forget|unregister|deregister|uninstall|kill|wipe|erase|"
    "flush|truncate|terminate|teardown|nuke|obliterate|unpublish|expunge|del|undeploy|decommission|deprovision|"
    "downgrade|rollback|discard|scrub|trash|evict|clobber|ban|detach|transfer|refunds?|shutdown|disable|abandon|cancel"
)
_SENDS = "publish|deploy|upload|down|send"
"""What others see, or miss, from then on; behind these a verb that only looks makes them a noun."""
_MIGRATES = r"(?:\w+:)*(?:migrate:(?:fresh|refresh|undo[\w:]*|down)|schema:load)"
_VERB = re.compile(
    rf"(?:\w+:)*(?:{_DESTROYS})(?:[:_-][\w:-]*)?|[\w-]+[.:](?:{_DESTROYS})|{_MIGRATES}|(?:\w+:)*(?:{_SENDS})",
    re.IGNORECASE,
)
_JOINED = re.compile(rf"[a-z]+-(?:{_DESTROYS})")
_STATEMENT = re.compile(
    r"\b(?:drop|truncate|alter)\s+(?:table|database|schema|keyspace|collection|index|view|user|role|type|function)\b"
    r"|\bdelete\s+from\b|\A\s*truncate\s+\w|\bgrant\s+[\w\s,]{1,80}\s(?:on|to)\s|\bupdate\s+\S+\s+set\s",
    re.IGNORECASE,
)
_LOOKS = words("list ls get show status describe logs info help version")
_CAMEL = re.compile(rf"(?i:{_DESTROYS})[A-Z]\w*")
_FLAG = re.compile(rf"--?(?:{_DESTROYS}|all|force|hard|accept-data-loss|no-backup)(?:-[\w-]+)?(?:=.*)?", re.IGNORECASE)
_HARMLESS_FLAGS = words("--dry-run --dryrun --whatif --what-if --check --reset-cache --force-color --all-features")
_SAYS = words("-m --message -t --title -b --body")
"""Flags whose value is a text."""
_NAME = re.compile(rf"{_DESTROYS}|clear", re.IGNORECASE)
_NOUNS = frozenset(_SENDS.split("|"))
_FIRST = 3
"""How many words in front may be the verb."""
_PLAIN = re.compile(r"[\w:.-]+", re.ASCII)


def destroys(given: Sequence[Word], *, by_flag: bool = True) -> str:
    """Return the verb, or with `by_flag` the flag, by which a program that is not known destroys something; empty when
    there is none.
    """
    texts = [word.text for word in given]
    if not _HARMLESS_FLAGS.isdisjoint(texts):
        return ""
    said = {at + 1 for at, text in enumerate(texts) if text in _SAYS}
    operands = [text for at, text in enumerate(texts) if not text.startswith("-") and at not in said][:_FIRST]
    verb = next((text for text in operands if _is_verb(text)), "")
    if "migrate" in texts[:4] and texts[-1] == "zero":
        return "migrate to zero"
    if (verb in _NOUNS and not _LOOKS.isdisjoint(operands)) or (verb.endswith("down") and not by_flag):
        verb = ""
    if not verb and operands[:1] and _JOINED.fullmatch(operands[0]):
        verb = operands[0]
    flags = (text for text in texts if text.startswith("--") and _FLAG.fullmatch(text))
    return verb or (next(flags, "") if by_flag else "")


def destroys_by_name(name: str) -> str:
    """Return the verb in the name of a program that is not known: `tpm2_clear`, `Remove-Item`, `db-wipe`."""
    parts = [part for part in re.split(r"[-_]", name) if part]
    found = (part for part in (parts[:1] + parts[-1:] if len(parts) > 1 else ()) if _NAME.fullmatch(part))
    return next(found, "")


def _is_verb(text: str) -> bool:
    """Whether a word is a verb that destroys or sends; one with a capital in front is a name."""
    if text.isalpha() and text.istitle():
        return False
    return bool(_VERB.fullmatch(text) or _CAMEL.fullmatch(text))


def verb_first(given: Sequence[Word], *, keeps_front: bool) -> list[list[Word]]:
    """Return other orders of the words, in which what may be the verb, of one word or two, stands in front; with
    `keeps_front` behind the flags that stood there.

    A word behind a flag may be its value or the verb; both are tried. Words whose verb stands in front already have no
    other order.
    """
    found = []
    for first in _may_be_next(given, 0):
        ahead, verb, behind = given[:first], given[first], given[first + 1 :]
        orders = [[verb, *behind]] if ahead and not keeps_front else []
        if behind and behind[0].text.startswith("-") and verb.text not in _RUNS:
            orders += [[verb, behind[at], *behind[:at], *behind[at + 1 :]] for at in _may_be_next(behind, 0)]
        found += [[*ahead, *order] if keeps_front else [*order, *ahead] for order in orders]
    return found


def _may_be_next(given: Sequence[Word], start: int) -> list[int]:
    """Return where the next operand may stand, in order: behind flags, the first of which may take it for a value."""
    found: list[int] = []
    for at in range(start, min(len(given), start + _MOST_AHEAD)):
        if given[at].text.startswith("-"):
            continue
        found.append(at)
        if at == start or not given[at - 1].text.startswith("-") or len(found) == _MOST_ORDERS:
            break
    return found


_RUNS = words("run exec x")
"""Verbs behind which a command stands, and no second word of the verb."""
_MOST_AHEAD, _MOST_ORDERS = 12, 3


def changes_data(given: Sequence[Word]) -> bool:
    """Return whether a word is a statement that deletes or changes what a data base holds."""
    return any(" " in word.text and _STATEMENT.search(word.text) for word in given)


def asks_help(given: Sequence[Word]) -> bool:
    """Return whether the words only ask what the program does: its help behind plain words, none of them a flag that
    could take the question for its value.
    """
    if [word.text for word in given[:1]] == ["help"]:
        return True
    for at, word in enumerate(given, 1):
        if word.text == "--help" or (at == len(given) and word.text == "-h"):
            return True
        if word.text.startswith("-") or not word.is_literal or not _PLAIN.fullmatch(word.text):
            return False
    return False
