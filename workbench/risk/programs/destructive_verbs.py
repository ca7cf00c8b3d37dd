"""Recognizes verbs, flags and names that delete or overwrite data, whatever the program."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.programs.rule import words
from workbench.risk.word import Word

_DESTROYS = (
    "delete|destroy|drop|purge|prune|rm|remove|revoke|reset|forget|unregister|deregister|uninstall|kill|wipe|erase|"
    "flush|truncate|terminate|teardown|nuke|obliterate|unpublish|expunge|del|undeploy|decommission|deprovision|"
    "downgrade|rollback|discard|scrub|trash|evict|clobber|ban|detach|transfer|refunds?|shutdown|disable|abandon|cancel"
)
_SENDS = "publish|deploy|upload|down|send"
"""Verbs whose effect others can see; together with a verb that only displays, they are treated as nouns."""
_IS_DOWN = lazy_pattern(r"(?:[\w-]+:)*down", re.IGNORECASE)
_MIGRATES = r"(?:\w+:)*(?:migrate:(?:fresh|refresh|undo[\w:]*|down)|schema:load)"
_VERB = lazy_pattern(
    rf"(?:\w+:)*(?:{_DESTROYS})(?:[:_-][\w:-]*)?|[\w-]+[.:](?:{_DESTROYS})|{_MIGRATES}|(?:\w+:)*(?:{_SENDS})",
    re.IGNORECASE,
)
_JOINED = lazy_pattern(rf"[a-z]+-(?:{_DESTROYS})")
_STATEMENT = lazy_pattern(
    r"\b(?:drop|truncate|alter)\s+(?:table|database|schema|keyspace|collection|index|view|user|role|type|function)\b"
    r"|\bdelete\s+from\b|\A\s*truncate\s+\w|\bgrant\s+[\w\s,]{1,80}\s(?:on|to)\s|\bupdate\s+\S+\s+set\s",
    re.IGNORECASE,
)
_LOOKS = words("list ls get show status describe logs info help version")
_CAMEL = lazy_pattern(rf"(?i:{_DESTROYS})[A-Z]\w*")
_FLAG = lazy_pattern(rf"(?i)--?(?:{_DESTROYS}|all|force|hard|accept-data-loss|no-backup)(?:-[\w-]+)?(?:=.*)?")
_HARMLESS_FLAGS = words("--dry-run --dryrun --whatif --what-if --check --reset-cache --force-color --all-features")
_SAYS = words("-m --message -t --title -b --body")
"""Flags whose value is a message."""
_NAME = lazy_pattern(rf"{_DESTROYS}|clear", re.IGNORECASE)
_NOUNS = frozenset(_SENDS.split("|"))
_FIRST = 3
"""The number of leading operands that are searched for the verb."""
_PLAIN = lazy_pattern(r"[\w:.-]+", re.ASCII)


def destroys(original: Sequence[Word], *, by_flag: bool = True) -> str:
    """Return the verb by which an unknown program destroys something; empty if there is none.

    With `by_flag`, return a destructive flag if there is no such verb.
    """
    strings = [word.text for word in original]
    if not _HARMLESS_FLAGS.isdisjoint(strings):
        return ""
    message = {at + 1 for at, text in enumerate(strings) if text in _SAYS}
    operands = [text for at, text in enumerate(strings) if not text.startswith("-") and at not in message][:_FIRST]
    verb = next((text for text in operands if _is_verb(text)), "")
    if "migrate" in strings[:4] and strings[-1] == "zero":
        return "migrate to zero"
    if (verb in _NOUNS and not _LOOKS.isdisjoint(operands)) or (_IS_DOWN.fullmatch(verb) and not by_flag):
        verb = ""
    if not verb and operands[:1] and _JOINED.fullmatch(operands[0]):
        verb = operands[0]
    flags = (text for text in strings if text.startswith("--") and _FLAG.fullmatch(text))
    return verb or (next(flags, "") if by_flag else "")


def destroys_by_name(name: str) -> str:
    """Return the destructive verb in an unknown program's name: `tpm2_clear`, `Remove-Item`, `db-wipe`."""
    parts = [part for part in re.split(r"[-_]", name) if part]
    match = (part for part in (parts[:1] + parts[-1:] if len(parts) > 1 else ()) if _NAME.fullmatch(part))
    return next(match, "")


def _is_verb(text: str) -> bool:
    """Return whether a word is a verb that destroys or sends; a capitalized word is treated as a name."""
    if text.isalpha() and text.istitle():
        return False
    return bool(_VERB.fullmatch(text) or _CAMEL.fullmatch(text))


def verb_first(original: Sequence[Word], *, keeps_front: bool) -> list[list[Word]]:
    """Return other orders of the words, with the possible verb (one or two words) at the front.

    A word after a flag may be the flag's value or the verb; both are tried. There is no other order if the verb is
    already at the front. With `keeps_front`, the flags before the verb stay before it.
    """
    result = []
    for first in _may_be_next(original, 0):
        ahead, verb, behind = original[:first], original[first], original[first + 1 :]
        orderings = [[verb, *behind]] if ahead and not keeps_front else []
        if behind and behind[0].text.startswith("-") and verb.text not in _RUNS:
            orderings += [[verb, behind[at], *behind[:at], *behind[at + 1 :]] for at in _may_be_next(behind, 0)]
        result += [[*ahead, *order] if keeps_front else [*order, *ahead] for order in orderings]
    return result


def _may_be_next(original: Sequence[Word], start: int) -> list[int]:
    """Return the possible indexes of the next operand, in order; a word after a flag may be that flag's value."""
    result: list[int] = []
    for at in range(start, min(len(original), start + _MOST_AHEAD)):
        if original[at].text.startswith("-"):
            continue
        result.append(at)
        if at == start or not original[at - 1].text.startswith("-") or len(result) == _MOST_OPERANDS:
            break
    return result


_RUNS = words("run exec x")
"""Verbs that are followed by a command, not by a second word of the verb."""
_MOST_AHEAD, _MOST_OPERANDS = 12, 3


def changes_data(original: Sequence[Word]) -> bool:
    """Return whether a word contains a database statement that deletes or changes data."""
    return any(" " in word.text and _STATEMENT.search(word.text) for word in original)


def asks_help(original: Sequence[Word]) -> bool:
    """Return whether the words only ask for help: `help` as first word, or `--help` or a final `-h` after plain words.

    No other flag may precede these, because they could be its value.
    """
    if [word.text for word in original[:1]] == ["help"]:
        return True
    for at, word in enumerate(original, 1):
        if word.text == "--help" or (at == len(original) and word.text == "-h"):
            return True
        if word.text.startswith("-") or not word.is_literal or not _PLAIN.fullmatch(word.text):
            return False
    return False
