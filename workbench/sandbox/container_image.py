"""The image of a session's container: already present, pulled, or built from a Dockerfile."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from workbench.config.container_settings import ContainerSettings
from workbench.config.devcontainer import content_of
from workbench.processes.spawn import start
from workbench.sandbox.container_runtime import ContainerRuntime, ImageBuild, failure_of, output_until
from workbench.sandbox.devcontainer import MayUse, check_trust
from workbench.sandbox.sandbox import Boundary

BUILDING, PULLING = "building the image", "pulling the image"
"""The steps to show, each followed by the runtime's output."""


class ContainerImage:
    """The image that the settings name, or that is built from the Dockerfile that they name."""

    def __init__(
        self,
        runtime: ContainerRuntime,
        boundary: Boundary,
        settings: ContainerSettings,
        may_use: MayUse,
        *,
        build: ImageBuild | None = None,
        problem: str = "",
    ) -> None:
        """`may_use` returns whether the user agreed to build from files with this content.

        `build` describes the build if there is more to it than the settings' Dockerfile. With a `problem` there is no
        image, and the problem is the reason shown.
        """
        self._problem = problem
        self._runtime = runtime
        self._settings = settings
        self._may_use = may_use
        file = settings.file_in(boundary.workspace)
        self._build = build or (ImageBuild(file, file.parent) if file is not None else None)
        self.name = image_name(settings, file)
        """The image's name for podman or docker."""
        self._client: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    @property
    def is_missing(self) -> bool:
        """Whether the image has to be pulled first."""
        return self._build is None and not self._problem and not self._runtime.has_image(self.name)

    def build(self, show: Callable[[str], None]) -> str:
        """Build the image if there is a build; return why that failed, or the `problem`, or an empty string.

        `show` gets each line of output. Raises OSError.
        """
        build = self._build
        if build is None:
            return self._problem
        # It is not read again: what is built is what the user agreed to.
        content = content_of(build.file)
        check_trust({**build.beside, build.file: content}, self._may_use)
        reaches_hosts = self._settings.network == "open"
        command = self._runtime.build_command(build, self.name, reaches_hosts=reaches_hosts)
        failure = self._failure_of(command, content, BUILDING, show)
        return failure and f"the image was not built: {failure}"

    def pull(self, show: Callable[[str], None]) -> str:
        """Pull the image; return why that failed, or an empty string. Raises OSError."""
        return self._failure_of(self._runtime.pull_command(self.name), b"", PULLING, show)

    def _failure_of(self, command: Sequence[str], content: bytes, task: str, show: Callable[[str], None]) -> str:
        """Run a command with `content` as its input, passing the task and each line to `show`; return why it failed, or
        "".
        """
        show(task)
        pipe = subprocess.PIPE
        with start(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT) as self._client:
            if self._is_stopped:
                self._client.kill()
            assert self._client.stdin is not None
            with suppress(BrokenPipeError), self._client.stdin as end:
                end.write(content)
            output = output_until("", self._client, lambda line: show(f"{task}: {line}")) or ""
        return failure_of(output, self.name) if self._client.returncode else ""

    def stop(self) -> None:
        """Kill a running build or pull, and any later one."""
        self._is_stopped = True
        if self._client is not None:
            self._client.kill()


def image_name(settings: ContainerSettings, file: Path | None) -> str:
    """Return the image's name: that in the settings, or one derived from the path of the file that it is built from."""
    return settings.image or f"localhost/ohw-{sha256(os.fsencode(str(file))).hexdigest()[:16]}"
