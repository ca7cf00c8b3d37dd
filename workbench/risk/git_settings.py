"""Parses git settings as git does; determines which paths they name, and which changes to them are harmless.

The grammar follows `config.c` in git; `tests/risk/test_git_settings.py` compares the parser with the installed git.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from workbench.lazy_pattern import lazy_pattern

_HARMLESS_KEY = lazy_pattern(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)|"
    r"branch\..*\.(?:merge|rebase)|extensions\.(?:objectformat|refstorage)|submodule\..*\.active|submodule\.active|"
    r"remote\..*\.fetch|user\.(?:name|email)|init\.defaultbranch|lfs\.repositoryformatversion",
    re.DOTALL,
)
_HARMLESS_VALUE = lazy_pattern(r"[\w./+*:@ ^<>-]*")
_REMOTE_KEY = lazy_pattern(r"(branch)\..*\.remote|remote\..*\.url|submodule\..*\.url", re.DOTALL)
_REMOTE_NAME = lazy_pattern(r"\w[\w.-]*|\.")
_REMOTE = lazy_pattern(r"(?:https?://|ssh://|git://|git@|/|\.{0,2}/|[\w.-]+\Z)(?!.*::)[\w@.:/~+ %-]*")
_INCLUDES = lazy_pattern(r"include\.path|includeif\..*\.path", re.DOTALL)
_OPTIONAL: Final = ":(optional)"
_PREFIX: Final = "%(prefix)/"
_PREFIXES: Final = ("/usr", "/usr/local", "/opt/homebrew", "/opt/local")
"""The directories that `%(prefix)` may stand for, one of which is where git was installed."""


class GitSetting(NamedTuple):
    """One setting: its key, `section.variable` or `section.subsection.variable`, and its value."""

    key: str
    """Section and variable are in lower case; so is a subsection that was written after a dot, otherwise it is as
    written.
    """
    value: str | None
    """None for a variable without `=`, which means true."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that the value may mean; versions of git interpret a few values differently."""
        value = self.value or ""
        if not value:
            return ()
        named = [value, value.removeprefix(_OPTIONAL), re.sub(r"[\t\r]", " ", value)]
        bases = [f"{base}/" for base in _PREFIXES if value.startswith(_PREFIX)]
        named += [base + value.removeprefix(_PREFIX) for base in bases]
        return tuple(dict.fromkeys(map(os.path.expanduser, named)))

    @property
    def hooks_paths(self) -> tuple[str, ...]:
        """The hook directories that the setting names; a relative path is relative to the work tree."""
        return self.paths if self.key == "core.hookspath" else ()


class ParsedSettings(NamedTuple):
    """The settings of one file, in order."""

    settings: tuple[GitSetting, ...]
    is_complete: bool
    """Whether the whole file could be parsed; if not, git refuses to work with it."""


_KEY: Final = "[A-Za-z0-9-"
_HEAD: Final = lazy_pattern(rf'\[(?:({_KEY}.]+)\]|({_KEY}.]*)[ \t\r]+"((?:[^"\\\n]|\\[^\n])*)"\])')
_NAME: Final = lazy_pattern(rf"([A-Za-z]{_KEY}]*)[ \t]*(=|(?=\n))")
_BETWEEN: Final = lazy_pattern(r"(?:[ \t\r\n]+|[#;][^\n]*)*")
_ESCAPED: Final = {"t": "\t", "b": "\b", "n": "\n", "\\": "\\", '"': '"', "\n": ""}
_ESCAPE: Final = lazy_pattern(r'\\([tbn"\\\n])')
_TOKEN: Final = lazy_pattern(
    r'([^ \t\r\n"\\;#]+)|([ \t\r]+)|(\\[tbn"\\\n])|"((?:[^"\\\n]|\\[tbn"\\\n])*)"|(?:[;#][^\n]*)?(\n)'
)
"""Matches a piece of a value: plain text, spaces, an escape, a quoted text, or the end of the line."""


@lru_cache(maxsize=64)
def parsed(text: str) -> ParsedSettings:
    """Return the settings of a file with this text, without following includes."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n") + "\n\n"
    settings: list[GitSetting] = []
    prefix, position = "", 0
    while True:
        between = _BETWEEN.match(text, position)
        position = between.end() if between else position
        if position >= len(text):
            return ParsedSettings(tuple(settings), is_complete=True)
        if head := _HEAD.match(text, position):
            section = head[1] or f"{head[2]}."
            prefix = section.lower() + re.sub(r"\\(.)", r"\1", head[3] or "") + "."
            position = head.end()
            continue
        name = _NAME.match(text, position)
        value = _value(text, name.end()) if name and name[2] else None
        if name is None or (name[2] and value is None):
            return ParsedSettings(tuple(settings), is_complete=False)
        position = name.end() if value is None else value[1]
        # git passes on C strings, which end at the first NUL
        key = f"{prefix}{name[1].lower()}".partition("\0")[0]
        settings.append(GitSetting(key, None if value is None else value[0].partition("\0")[0]))


def _value(text: str, position: int) -> tuple[str, int] | None:
    """Return the value that starts at the position, and its end; None if git rejects it."""
    value = spaces = ""
    while token := _TOKEN.match(text, position):
        position = token.end()
        plain, space, escape, quoted, end = token.groups()
        if end:
            return value, position
        if space:
            spaces += space if value else ""
            continue
        value += spaces + (plain or _ESCAPE.sub(lambda match: _ESCAPED[match[1]], escape or quoted or ""))
        spaces = ""
    return None


def hooks_paths(text: str) -> Iterator[str]:
    """Yield the hook directories that the settings name; a relative path is relative to the work tree."""
    for setting in parsed(text).settings:
        yield from setting.hooks_paths


def included(text: str) -> Iterator[str]:
    """Yield the settings files that are included, under any condition; a relative path is relative to the including
    file.
    """
    for setting in _includes(text):
        yield from setting.paths


@lru_cache(maxsize=64)
def _includes(text: str) -> Sequence[GitSetting]:
    return [setting for setting in parsed(text).settings if _INCLUDES.fullmatch(setting.key)]


def is_harmless(before: bytes, after: bytes) -> bool:
    """Return whether no changed setting can make git run a program or send commits elsewhere.

    `before` and `after` are the contents of a settings file.
    """
    old, new = _values(before), _values(after)
    if old is None or new is None:
        return False
    for key in old.keys() | new.keys():
        earlier, now = old.get(key, ()), new.get(key, ())
        if earlier == now:
            continue
        if remote := _REMOTE_KEY.fullmatch(key):
            # A remote may be added or removed, and a new branch may follow one by its name; what sends the commits of
            # an existing remote or branch elsewhere must not go unnoticed.
            allowed = _REMOTE_NAME if remote[1] else _REMOTE
            if (earlier and now) or not all(map(allowed.fullmatch, now)):
                return False
        elif not _HARMLESS_KEY.fullmatch(key) or not all(map(_HARMLESS_VALUE.fullmatch, now)):
            return False
    return True


def _values(content: bytes) -> dict[str, tuple[str, ...]] | None:
    """Return the values of each setting by key, or None if git would reject the file."""
    settings, is_complete = parsed(content.decode(errors="surrogateescape"))
    values: dict[str, tuple[str, ...]] = {}
    for key, value in settings:
        values[key] = (*values.get(key, ()), value or "")
    return values if is_complete else None
