"""Read git settings: the hooks directories and included files they name, and whether a change is harmless.

Only the common form of a setting is parsed; a setting written in any other way is never harmless.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_HARMLESS_KEY = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)|"
    r"branch\..*\.(?:merge|rebase)|extensions\.(?:objectformat|refstorage)|submodule\..*\.active|submodule\.active|"
    r"remote\..*\.fetch|user\.(?:name|email)|init\.defaultbranch|lfs\.repositoryformatversion"
)
_HARMLESS_VALUE = re.compile(r"[\w./+*:@ ^<>-]*")
_REMOTE_KEY = re.compile(r"(branch)\..*\.remote|remote\..*\.url|submodule\..*\.url")
_REMOTE_NAME = re.compile(r"\w[\w.-]*|\.")
_REMOTE = re.compile(r"(?:https?://|ssh://|git://|git@|/|\.{0,2}/|[\w.-]+\Z)(?!.*::)[\w@.:/~+ %-]*")
_HOOKS_PATH = re.compile(r"(?im)^\s*(?:\[core\]\s*)?hookspath\s*=\s*(.+?)\s*$")
_INCLUDED = re.compile(r"(?im)^\s*\[\s*include(?:if\s+\"[^\"\n]*\")?\s*\](?:\s*[#;][^\n]*\n)*\s*path\s*=\s*(.+?)\s*$")


def hooks_paths(text: str) -> Iterator[str]:
    """Return the hooks directories that the settings name; a relative path starts at the working tree."""
    return map(_unquoted, _HOOKS_PATH.findall(text))


def included(text: str) -> Iterator[str]:
    """Return the settings files that are included under any condition; a relative path starts at the includer."""
    return map(_unquoted, _INCLUDED.findall(text))


def _unquoted(value: str) -> str:
    return os.path.expanduser(value.strip('"'))  # noqa: PTH111 - a string comes out


def is_harmless(before: bytes, after: bytes) -> bool:
    """Return whether no changed setting can make git run a program or send commits elsewhere."""
    old, new = _settings(before), _settings(after)
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


_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*')
_SETTING = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?")


def _settings(content: bytes) -> dict[str, tuple[str, ...]] | None:
    """Return the values of each setting in a git configuration, or None if it is not in the common form."""
    if b"\\\n" in content or b"\0" in content:
        return None
    settings: dict[str, tuple[str, ...]] = {}
    section = ""
    for line in content.decode(errors="replace").split("\n"):
        text = line.strip()
        head = _SECTION.match(text)
        if head:
            section = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
            text = text[head.end() :]
        if not text or text[0] in "#;":
            continue
        setting = _SETTING.fullmatch(text)
        if setting is None or not section:
            return None
        key = f"{section}.{setting[1].lower()}"
        settings[key] = (*settings.get(key, ()), setting[2] or "")
    return settings
