"""The file `devcontainer.json` of a project: where it is, its format, and the files that its image is built from.

The format is described at https://containers.dev/implementors/json_reference: JSON with comments, in which a comma may
follow the last entry. These files are read before the user trusts the project. So reading takes time proportional to
their size, whatever they contain, and never follows a link.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from workbench.config.container_settings import DEVCONTAINER, ContainerSettings
from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern
from workbench.text import visible, visible_path

NAMES: Final = (".devcontainer/devcontainer.json", ".devcontainer.json")
"""The paths in a project at which the file is looked for, in this order."""
_LARGEST: Final = 1_000_000
"""The size, in bytes, of the largest file of the project that is read."""
_LONGEST_PATH: Final = 4_096
# The quantifiers are possessive (`*+`), so nothing is matched twice, and an unclosed string or comment extends to the
# end of the text. Both keep the time proportional to the size.
_STRING: Final = r'"(?:[^"\\]|\\.)*+"?+'
_COMMENT: Final = lazy_pattern(rf"{_STRING}|//[^\n]*+|/\*.*?(?:\*/|(\Z))", re.S)
_LAST_COMMA: Final = lazy_pattern(rf'({_STRING}|[^\s"\[{{,:])(\s*+),(?=\s*+[\]}}])|{_STRING}', re.S)
_NOT_NEWLINE: Final = lazy_pattern(r"[^\n]")


def devcontainer_in(settings: ContainerSettings, workspace: Path) -> Path | None:
    """Return the path of the devcontainer.json that the settings select, which may not exist; None if they select none.

    An image or a Dockerfile in the settings takes precedence over it.
    """
    if settings.image or settings.dockerfile or not settings.devcontainer:
        return None
    top = workspace.resolve()
    if settings.devcontainer != DEVCONTAINER:
        return top / settings.devcontainer
    # Unlike `Path.is_file`, this does not raise PermissionError for a link into a directory that may not be read.
    existing = (top / name for name in NAMES if os.path.isfile(top / name))  # noqa: PTH113
    return next(existing, top / NAMES[0])


def files_of_project(settings: ContainerSettings, workspace: Path) -> tuple[Path, ...]:
    """Return the project's files that define the container: its devcontainer.json and its Dockerfile, if it has them.

    They are used only if the user trusts them.
    """
    file = devcontainer_in(settings, workspace)
    if file is None:
        dockerfile = settings.file_in(workspace)
        return (dockerfile,) if dockerfile is not None else ()
    try:
        dockerfile = dockerfile_of(parsed(content_of(file)), file, workspace)
    except (OSError, UsageError):
        return (file,)
    return (file, dockerfile) if dockerfile is not None else (file,)


def content_of(file: Path) -> bytes:
    """Return the content of a project's file.

    Raises OSError, with the reason, if the path contains a link, or if the file is not regular or larger than 1 MB.
    """
    name = visible_path(str(file))
    if os.path.realpath(file) != os.path.normpath(file):
        raise OSError(0, f"{name} is a link or below one, from which no image is built")
    if not file.is_file():
        raise OSError(0, f"there is no file {name}")
    with open(file, "rb", opener=_open_at_once) as stream:
        content = stream.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else None
    if content is None:
        raise OSError(0, f"there is no file {name}")
    if len(content) > _LARGEST:
        raise OSError(0, f"{name} is larger than {_LARGEST:,} bytes")
    return content


def _open_at_once(path: str, flags: int) -> int:
    """Open a path without waiting, should it have become a pipe, and raise OSError should it have become a link."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def dockerfile_of(data: Mapping[str, Any], file: Path, workspace: Path) -> Path | None:
    """Return the path of the Dockerfile that a devcontainer.json names; None if it names none.

    `data` are the entries of that `file`, whose directory the name is relative to. Raises UsageError for a Dockerfile
    outside the workspace.
    """
    build = data.get("build")
    name = build.get("dockerfile") if isinstance(build, Mapping) else None
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= _LONGEST_PATH:
        return None
    dockerfile = Path(os.path.normpath(file.parent / name))
    if not Path(os.path.realpath(dockerfile)).is_relative_to(os.path.realpath(workspace)):
        raise UsageError(f"{visible_path(str(dockerfile))} is outside the workspace")
    return dockerfile


def parsed(content: bytes) -> Mapping[str, Any]:
    """Return the entries of a devcontainer.json. Raises UsageError if the content is not a JSON object in UTF-8."""
    try:
        text = _COMMENT.sub(_without_comment, content.decode("utf-8-sig"))
        data = json.loads(_LAST_COMMA.sub(_without_comma, text), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"it is no JSON with comments: {visible(str(error), lines=False)}") from error
    if not isinstance(data, dict):
        raise UsageError("it is no JSON object")
    return data


def _without_comment(match: re.Match[str]) -> str:
    """Return spaces for a comment, so that errors name the right line and column; a string or an unclosed comment
    stays as it is.
    """
    is_open = match[1] is not None
    return match[0] if is_open or match[0].startswith('"') else _NOT_NEWLINE.sub(" ", match[0])


def _without_comma(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else f"{match[1]}{match[2]} "


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no value of JSON")
