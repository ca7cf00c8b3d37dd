"""`--container-copy`: the session works in a copy of a directory of a container image; its changes become a patch."""

from __future__ import annotations

import shlex
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from workbench.cli.common import print_error
from workbench.config.locations import Locations
from workbench.config.settings import NO_MODEL, Settings, read_container
from workbench.errors import UsageError, WorkbenchError
from workbench.files.output_file import save_bytes
from workbench.llm.factory import NO_MODEL_MESSAGE
from workbench.processes.spawn import keep_out_of
from workbench.sandbox.workspace_copy import WorkspaceCopy
from workbench.text import counted, visible_path


def copied(where: Locations, settings: Settings, arguments: Namespace) -> WorkspaceCopy:
    """Create a copy of the directory that the arguments name, printing each step. Raises WorkbenchError."""
    container = read_container(settings.container)
    if not container.image:
        raise UsageError("--container-copy needs the image that has the directory: --container IMAGE")
    if arguments.workspace is not None:
        raise UsageError("give --container-copy or --workspace, not both")
    from workbench.sandbox.image_copy import copy_from_image

    copy = copy_from_image(where, container, arguments.container_copy, print_error)
    keep_out_of(copy.directory)
    return copy


def workspace_in_copy(where: Locations, settings: Settings, arguments: Namespace) -> Path:
    """Create a copy, print how to get its changes, and return its directory. Raises WorkbenchError."""
    copy = copied(where, settings, arguments)
    print_error(_export_hint(copy))
    return copy.directory


def run_in_copy(where: Locations, settings: Settings, arguments: Namespace, drive: Callable[[Path], int]) -> int:
    """Run the agent in a new copy by calling `drive` with its directory; return the exit code of `drive`.

    Afterwards, the changes are written as a patch, or a line says how to get them. Raises WorkbenchError if the run
    cannot start, or the patch cannot be written.
    """
    if arguments.container_copy is None:
        raise UsageError("--patch needs --container-copy, whose changes it writes")
    if settings.model in (None, "", NO_MODEL):
        raise UsageError(NO_MODEL_MESSAGE)
    file = Path(arguments.patch) if arguments.patch is not None else None
    if file is not None and (not arguments.patch or file.is_dir() or not file.absolute().parent.is_dir()):
        raise UsageError(f"--patch {arguments.patch!r}: give a file in an existing directory")
    copy = copied(where, settings, arguments)
    try:
        code = drive(copy.directory)
    except WorkbenchError:
        copy.remove()
        raise
    if file is None:
        print_error(_export_hint(copy))
        return code
    patch = copy.patch()
    save_bytes(patch, file)
    changed = counted(patch.count(b"\ndiff --git ") + patch.startswith(b"diff --git "), "changed file")
    print_error(
        f"{visible_path(str(file))} has the patch of {changed}; the copy is {visible_path(str(copy.directory))}"
    )
    return code


def _export_hint(copy: WorkspaceCopy) -> str:
    directory = shlex.quote(visible_path(str(copy.directory)))
    return f"its changes as a patch: ohw export --workspace {directory} -o FILE.patch"


def print_patch(where: Locations, workspace: Path, output: str | None) -> None:
    """Print the changes in a session's workspace as a patch, or save them to the file `output`.

    Raises WorkbenchError if the workspace is not a copy made by `--container-copy`.
    """
    from workbench.sandbox.workspace_copy import copy_at

    copy = copy_at(where, workspace)
    if copy is None:
        raise UsageError(f"{visible_path(str(workspace))} is no copy of --container-copy; `git diff` has its changes")
    patch = copy.patch()
    if output and output != "-":
        save_bytes(patch, Path(output))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(patch)
