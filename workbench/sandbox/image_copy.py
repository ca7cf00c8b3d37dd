"""Copies a directory out of a container image into a new workspace, for images that contain the code."""

from __future__ import annotations

import os
import posixpath
import secrets
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from workbench.config.container_settings import ContainerSettings
from workbench.config.locations import Locations
from workbench.errors import UsageError, WorkbenchError
from workbench.processes.leftovers import mark
from workbench.processes.spawn import start
from workbench.sandbox.container import LABEL
from workbench.sandbox.container_image import ContainerImage
from workbench.sandbox.container_runtime import ContainerRuntime, failure_of
from workbench.sandbox.image_tree import UnpackedTree, unpack
from workbench.sandbox.sandbox import Boundary
from workbench.sandbox.workspace_copy import WorkspaceCopy, sweep
from workbench.text import counted, first_line, size_of, visible, visible_path

_ABSENT: Final = ("could not be found", "Could not find", "no such file")
_MOST_OMITTED: Final = 5


def copy_from_image(
    locations: Locations, settings: ContainerSettings, path: str, show: Callable[[str], None]
) -> WorkspaceCopy:
    """Copy a directory from the image of the settings, pulling it if necessary; `show` gets a line for each step.

    Raises UsageError if the path is not absolute, and WorkbenchError if the directory does not exist, the disk is full,
    or git fails; then nothing of the copy remains on the disk.
    """
    origin, image = _checked_path(path), visible(settings.image, lines=False)
    runtime = ContainerRuntime.find(settings.runtime)
    _pull(locations, runtime, settings, show)
    sweep(locations)
    name = f"{posixpath.basename(origin)}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    copy: WorkspaceCopy | None = None
    is_complete = False
    try:
        copy = WorkspaceCopy.create(locations, settings.image, origin, name)
        show(f"copying {visible_path(origin)} from the image {image}")
        tree = _unpack(runtime, copy)
        copy.record()
        is_complete = True
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkbenchError(f"{visible_path(origin)} cannot be copied from the image {image}: {reason}") from error
    finally:
        if copy is not None and not is_complete:
            copy.remove()
    for line in _lines(tree, copy.directory):
        show(line)
    return copy


def _lines(tree: UnpackedTree, directory: Path) -> list[str]:
    omitted = [f"not copied: {visible(each, lines=False)}" for each in tree.omitted[:_MOST_OMITTED]]
    if len(tree.omitted) > _MOST_OMITTED:
        omitted.append(f"not copied: {counted(len(tree.omitted) - _MOST_OMITTED, 'more path')}")
    return [*omitted, f"copied {counted(tree.files, 'file')}, {size_of(tree.size)}, to {visible_path(str(directory))}"]


def _checked_path(path: str) -> str:
    origin = posixpath.normpath(path)
    if not path.startswith("/") or not origin.strip("/") or ".." in path.split("/") or not origin.isprintable():
        raise UsageError(f"--container-copy is the absolute path of a directory in the image, not {path!r}")
    return f"/{origin.strip('/')}"


def _pull(
    locations: Locations, runtime: ContainerRuntime, settings: ContainerSettings, show: Callable[[str], None]
) -> None:
    """Pull the image if this machine does not have it. Raises WorkbenchError."""
    image = visible(settings.image, lines=False)
    boundary = Boundary(Path("/"), locations, Path.home())
    named = ContainerImage(runtime, boundary, settings, lambda files: False)
    failure = ""
    try:
        if named.is_missing:
            show(f"fetching the image {image}")
            failure = named.pull(lambda line: show(first_line(line, 100)))
    except OSError as error:
        failure = error.strerror or str(error)
    if failure:
        raise WorkbenchError(f"the image {image} cannot be fetched: {failure}")


def _unpack(runtime: ContainerRuntime, copy: WorkspaceCopy) -> UnpackedTree:
    """Unpack the directory of the image into the copy. Raises OSError or WorkbenchError."""
    container = f"ohw-copy-{os.getpid()}-{secrets.token_hex(4)}"
    runtime.create(container, copy.image, {LABEL: mark()})
    try:
        with tempfile.TemporaryFile() as errors:
            command = runtime.archive_command(container, copy.path)
            with start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as client:
                tree = _unpacked(client, copy)
            if tree is None:
                errors.seek(0)
                raise WorkbenchError(_failure(errors.read().decode(errors="replace"), copy))
            return tree
    finally:
        runtime.remove(container)


def _unpacked(client: subprocess.Popen[bytes], copy: WorkspaceCopy) -> UnpackedTree | None:
    """Unpack the archive that the client prints; return None if the client fails. Raises OSError or
    NotADirectoryInImage.
    """
    assert client.stdout is not None
    with client.stdout as stream:
        try:
            tree = unpack(stream, copy.path, copy.directory)
            stream.read()  # what follows the end of the archive, without which the client would fail
        except tarfile.TarError:
            return None
    return tree if client.wait() == 0 else None


def _failure(output: str, copy: WorkspaceCopy) -> str:
    image, path = visible(copy.image, lines=False), visible_path(copy.path)
    if any(each in output for each in _ABSENT):
        return f"there is no directory {path} in the image {image}"
    return f"{path} cannot be copied from the image {image}: {failure_of(output, copy.image)}"
