"""Unpacks a directory of an image from the tar stream of `podman cp`, so that no link in the copy leads out of it.

The image is not trusted. Links are created last, when nothing is written any more, and only if their text names a path
inside the directory. Since `..` may only be at the start of a target, and all directories above a link are real, chains
of links cannot lead out either.
"""

from __future__ import annotations

import posixpath
import shutil
import tarfile
from dataclasses import dataclass, field
from itertools import dropwhile
from pathlib import Path
from typing import IO, Final

from workbench.errors import WorkbenchError

_EXECUTABLE, _PLAIN = 0o755, 0o644
_OWNER_EXECUTES: Final = 0o100


class NotADirectoryInImage(WorkbenchError):
    """The path in the image is not a directory."""


@dataclass
class UnpackedTree:
    """What was unpacked, and what was not."""

    files: int = 0
    size: int = 0
    """The total size of the files in bytes."""
    omitted: list[str] = field(default_factory=list)
    """The paths that were not unpacked, each with the reason."""


def unpack(stream: IO[bytes], origin: str, target: Path) -> UnpackedTree:
    """Unpack the archive of the image's directory `origin` into the existing, empty directory `target`.

    The current user owns the files. Absolute links to paths in `origin` become relative. Raises OSError,
    tarfile.TarError or NotADirectoryInImage.
    """
    tree, symlinks = UnpackedTree(), dict[str, str]()
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            top, _, name = posixpath.normpath(member.name).lstrip("/").partition("/")
            if not name:
                _check_top(member, origin)
            elif ".." in (top, *name.split("/")):
                tree.omitted.append(f"{member.name}: a path that leads out")
            elif member.issym():
                symlinks[name] = member.linkname
            else:
                _unpack_member(archive, member, target, name, tree)
    _link(symlinks, origin, target, tree)
    return tree


def _check_top(member: tarfile.TarInfo, origin: str) -> None:
    if member.issym():
        raise NotADirectoryInImage(f"{origin} is a link to {member.linkname} in the image; name that directory")
    if not member.isdir():
        raise NotADirectoryInImage(f"{origin} is a file in the image, not a directory")


def _unpack_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path, name: str, tree: UnpackedTree
) -> None:
    path = target / name
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    content = archive.extractfile(member) if member.isreg() else None
    source = posixpath.normpath(member.linkname).partition("/")[2] if member.islnk() else ""
    if content is None and not (source and ".." not in source.split("/") and (target / source).is_file()):
        tree.omitted.append(f"{name}: neither a file nor a directory nor a link")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if content is None:
        # A file of its own: writes to one that has several names are asked about in every mode.
        shutil.copy(target / source, path)
        return
    with path.open("xb") as file:
        shutil.copyfileobj(content, file)
    path.chmod(_EXECUTABLE if member.mode & _OWNER_EXECUTES else _PLAIN)
    tree.files, tree.size = tree.files + 1, tree.size + member.size


def _link(symlinks: dict[str, str], origin: str, target: Path, tree: UnpackedTree) -> None:
    """Create the links, after all directories above them, so that none is created through another link."""
    for name in symlinks:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
    for name, text in symlinks.items():
        inside = _target_inside(name, text, origin)
        if inside is None or (target / name).exists():
            tree.omitted.append(f"{name}: a link to {text}, which leads out")
        else:
            (target / name).symlink_to(inside)


def _target_inside(name: str, text: str, origin: str) -> str | None:
    """Return the target of the link `name`, relative to the link's directory; None unless it is certainly inside the
    copy.
    """
    directory = posixpath.dirname(name)
    if text.startswith("/"):
        path = posixpath.normpath(text)
        if not f"{path}/".startswith(f"{origin}/"):
            return None
        text = posixpath.relpath(path, posixpath.join(origin, directory))
    parts = [part for part in text.split("/") if part not in ("", ".")]
    rest = list(dropwhile(lambda part: part == "..", parts))
    depth = len(directory.split("/")) if directory else 0
    if ".." in rest or len(parts) - len(rest) > depth:
        return None
    return "/".join(parts) or "."
