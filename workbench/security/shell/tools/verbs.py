"""What the words of any program say of it: verbs and flags that destroy, and the question for its help."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.security.protected import words
from workbench.security.shell.words import Word

_DESTROYS = (
    "delete|destroy|drop|purge|prune|rm|remove|revoke|reset|forget|unregister|deregister|uninstall|kill|wipe|erase|"
    "flush|truncate|terminate|teardown|nuke|obliterate|unpublish|expunge"
)
_VERB = re.compile(rf"(?:\w+:)*(?:{_DESTROYS})(?:[:-][\w:-]*)?|[\w-]+[.:](?:{_DESTROYS})", re.IGNORECASE)
_CAMEL = re.compile(rf"(?:{_DESTROYS})[A-Z]\w*")
_FLAG = re.compile(rf"--?(?:{_DESTROYS}|all|force|hard)(?:-[\w-]+)?(?:=.*)?", re.IGNORECASE)
_HARMLESS_FLAGS = words("--dry-run --dryrun --whatif --what-if --check --reset-cache --force-color --all-features")
_SAYS = words("-m --message -t --title -b --body")
"""Flags whose value is a text."""
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
    verb = next((text for text in operands if _VERB.fullmatch(text) or _CAMEL.fullmatch(text)), "")
    flags = (text for text in texts if text.startswith("--") and _FLAG.fullmatch(text))
    return verb or (next(flags, "") if by_flag else "")


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
