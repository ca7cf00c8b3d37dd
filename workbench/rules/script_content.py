"""The workspace script that a command runs, and the hash of its content, to which a rule may be bound."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Final

from workbench.files.root_directory import real_path
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Part
from workbench.risk.paths import within, words

_FLAGS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(words("python pypy"), words("-u -B -E -I -s -S -O -OO -bb")),
    **dict.fromkeys(words("sh bash dash zsh ksh"), words("-e -u -x -eu -ex -ux -eux")),
    **dict.fromkeys(words("perl ruby"), words("-w")),
    **dict.fromkeys(words("node nodejs php lua Rscript bun"), frozenset()),
}
"""Interpreters, with the flags (without values) that may precede the script."""
_DURATION: Final = lazy_pattern(r"\d+(?:\.\d+)?[smhd]?")
_RUNNERS: Final = words("uv poetry pipenv pdm hatch rye")
"""Programs whose verb `run` starts a program in the project's environment."""
_VERSION: Final = lazy_pattern(r"[\d.]+\Z")
_LARGEST: Final = 10_000_000


def wrapper_length(command: Sequence[str]) -> int:
    """Return how many words precede the program that `timeout`, `time`, `nice` or `uv run` starts; 0 without such a
    wrapper.

    Wrappers with options are not recognized.
    """
    name, *rest = command or ("",)
    before = 0
    if (name in _RUNNERS and rest[:1] == ["run"]) or (name == "timeout" and rest and _DURATION.fullmatch(rest[0])):
        before = 2
    elif name in {"time", "nice"}:
        before = 1
    return before if before < len(command) and not command[before].startswith("-") else 0


def script_index(command: Sequence[str]) -> int:
    """Return the index of the word that names a command's script; -1 if there is none, or if it is unclear."""
    if not command:
        return -1
    if "/" in command[0]:
        return 0
    if before := wrapper_length(command):
        inner = script_index(command[before:])
        return before + inner if inner >= 0 else -1
    flags = _FLAGS.get(_VERSION.sub("", command[0]))
    if flags is None:
        return -1
    at = next((at for at, word in enumerate(command[1:], 1) if word not in flags), 0)
    return at if at and not command[at].startswith("-") else -1


def script_of(part: Part, workspace: str) -> str:
    """Return the path of the workspace script that a command runs; empty if it runs none, or one outside the
    workspace.
    """
    at = script_index(part.words)
    if at < 0 or part.is_lost or len(part.directories) != 1:
        return ""
    path = real_path(os.path.join(part.directories[0], part.words[at]))  # noqa: PTH118 - strings in, strings out
    return path if within(path, real_path(workspace)) and os.path.isfile(path) else ""  # noqa: PTH113


def content_hash(path: str) -> str:
    """Return the first 32 digits of the SHA-256 of a file; empty if it cannot be read or is larger than 10 MB."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - asked for each action
            content = file.read(_LARGEST + 1)
    except OSError:
        return ""
    return hashlib.sha256(content).hexdigest()[:32] if len(content) <= _LARGEST else ""
