"""The command lines of podman and docker, which have the same subcommands."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from workbench.config.container_settings import RUNTIMES
from workbench.errors import UsageError, WorkbenchError
from workbench.processes.spawn import find_program, run
from workbench.processes.sweep import pid_namespace
from workbench.text import first_line, visible

_FIRST_PROCESS: Final = "echo {ready}; while read -r _; do :; done"
"""Lives as long as its standard input is open; a bash in a `read` reaps the orphans that it adopts."""
_DROPPED: Final = ("MKNOD", "NET_RAW", "AUDIT_WRITE", "SYS_CHROOT")
_NO_DETACHING: Final = {"podman": "", "docker": "ctrl-^,ctrl-^,ctrl-^,ctrl-^,ctrl-@"}
"""Keys that leave `exec`; docker has no way to switch them off, so they are ones that nobody types."""
_SECONDS: Final = 20.0
_COPYING: Final = 900.0
"""Seconds in which a container is created; podman's `vfs` storage copies the image for it."""
_MOST_OUTPUT: Final = 20_000


@dataclass(frozen=True)
class BindMount:
    """A path of this machine in a container."""

    source: str
    target: str
    is_writable: bool

    @property
    def option(self) -> str:
        """The value of `--mount`, a line of CSV."""
        fields = ["type=bind", f"source={self.source}", f"target={self.target}"]
        return ",".join(map(_csv_field, fields if self.is_writable else [*fields, "readonly"]))


def _csv_field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\n') else text


@dataclass(frozen=True)
class ImageBuild:
    """What an image is built from."""

    file: Path
    context: Path
    """The directory that is passed to the build."""
    args: Mapping[str, str] = field(default_factory=dict)
    target: str = ""
    """The stage of the file to build; the last one if empty."""
    beside: Mapping[Path, bytes] = field(default_factory=dict)
    """Further files that the user agrees to together with this one, with their content."""


@dataclass(frozen=True)
class ContainerRuntime:
    """A program that runs containers."""

    program: str
    is_podman: bool

    @classmethod
    def find(cls, name: str = "") -> ContainerRuntime:
        """Return the named program, or the first that is installed. Raises UsageError."""
        names = [name] if name else RUNTIMES
        for each in names:
            program = find_program(each)
            if program is not None:
                return cls(program, each == "podman")
        absent = " and no ".join(names)
        raise UsageError(
            f"there is no {absent} here, which the container needs: install {names[0]} or use no container"
        )

    @property
    def name(self) -> str:
        """The program's name."""
        return "podman" if self.is_podman else "docker"

    def user_options(self, user: str) -> list[str]:
        """Return the options that make files in the workspace belong to the user of this process, or to `user`."""
        own = f"{os.getuid()}:{os.getgid()}"
        rootless = ["--userns=keep-id"] if self.is_podman and os.getuid() != 0 else []
        return [*rootless, "--user", user or own]

    def memory_options(self, memory: str) -> list[str]:
        """Return the options that limit memory, swap included; none for an empty amount."""
        return ["--memory", memory, "--memory-swap", memory] if memory else []

    def run_command(self, name: str, image: str, options: Iterable[str]) -> list[str]:
        """Return the command that runs a container until its standard input is closed; the image must be here."""
        first = _FIRST_PROCESS.format(ready=ready_line(name))
        dropped = [word for each in _DROPPED for word in ("--cap-drop", each)]
        proxied = ["--http-proxy=false"] if self.is_podman else []
        limits = ["--security-opt", "no-new-privileges", *dropped, "--pids-limit", "4096"]
        fixed = ["--rm", "--pull", "never", "--name", name, *proxied, *limits, "--entrypoint", "bash"]
        return [self.program, "run", "-i", *fixed, *options, image, "-c", first]

    def has_image(self, image: str) -> bool:
        """Return whether an image is on this machine. Raises OSError."""
        return self._output("image", "inspect", "--format", "{{.Id}}", "--", image)[0] == 0

    def pull_command(self, image: str) -> list[str]:
        """Return the command that fetches an image, printing its progress."""
        return [self.program, "pull", "--", image]

    def build_command(self, build: ImageBuild, image: str, *, reaches_hosts: bool) -> list[str]:
        """Return the command that builds an image from the file on its standard input.

        What it runs `reaches_hosts` or none. A file NAME.dockerignore beside it replaces `.dockerignore`, with podman:
        docker looks for it by the name of the file, which it is not told.
        """
        network = [] if reaches_hosts else ["--network", "none"]
        ignored = build.file.with_name(f"{build.file.name}.dockerignore")
        more = ["--ignorefile", str(ignored)] if self.is_podman and ignored.is_file() else []
        args = [f"--build-arg={name}={value}" for name, value in build.args.items()]
        target = [f"--target={build.target}"] if build.target else []
        return [self.program, "build", *network, *more, *args, *target, "-f", "-", "-t", image, str(build.context)]

    def create(self, name: str, image: str, labels: Mapping[str, str]) -> None:
        """Create a container that is never started, of an image that is here. Raises OSError or WorkbenchError."""
        words = [word for label, value in labels.items() for word in ("--label", f"{label}={value}")]
        fixed = ["--pull", "never", "--network", "none", "--name", name]
        code, _, errors = self._output("create", *fixed, *words, image, "true", timeout=_COPYING)
        if code:
            raise WorkbenchError(f"no container of {visible(image, lines=False)}: {failure_of(errors, image)}")

    def archive_command(self, name: str, path: str) -> list[str]:
        """Return the command that prints a directory of a container as a tar stream."""
        return [self.program, "cp", f"{name}:{path}", "-"]

    def exec_command(
        self, name: str, argv: Sequence[str], directory: str, variables: Iterable[str], user: str
    ) -> list[str]:
        """Return the command that runs a program on a terminal in a running container.

        The `variables` have the values that they have for the command.
        """
        passed = [word for each in variables for word in ("--env", each)]
        keys = ["--detach-keys", _NO_DETACHING[self.name]]
        user_option = ["--user", user or f"{os.getuid()}:{os.getgid()}"]
        return [self.program, "exec", "-i", "-t", *keys, *user_option, *passed, "--workdir", directory, name, *argv]

    def names(self, label: str) -> list[tuple[str, str]]:
        """Return the names of the containers with a label, and its values. Raises OSError."""
        shape = '{{.Names}} {{index .Labels "%s"}}' if self.is_podman else '{{.Names}} {{.Label "%s"}}'
        _, output, _ = self._output("ps", "-a", "--filter", f"label={label}", "--format", shape % label)
        pairs = [line.split(maxsplit=1) for line in output.splitlines()]
        return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]

    def remove(self, name: str) -> None:
        """Kill and remove a container, if there is one. Raises OSError."""
        self._output("rm", "-f", name)

    def _output(self, *words: str, timeout: float = _SECONDS) -> tuple[int, str, str]:
        done = run([self.program, *words], capture_output=True, timeout=timeout)
        return done.returncode, done.stdout.decode(errors="replace").strip(), done.stderr.decode(errors="replace")


def ready_line(name: str) -> str:
    """Return what a container's first process prints."""
    return f"{name}-is-up"


def first_process(name: str) -> int:
    """Return the pid of a container's first process on this machine; 0 if it is not here."""
    line, own = ready_line(name).encode(), pid_namespace("self")
    for pid in filter(str.isdigit, os.listdir("/proc") if Path("/proc/self").exists() else ()):  # noqa: PTH208
        with suppress(OSError):
            if line in Path(f"/proc/{pid}/cmdline").read_bytes() and pid_namespace(pid) not in ("", own):
                return int(pid)
    return 0


def output_until(line: str, client: subprocess.Popen[bytes], show: Callable[[str], None]) -> str | None:
    """Read until a line, if one is given, passing on the lines before it; return them all if it does not come."""
    output = ""
    assert client.stdout is not None
    for each in client.stdout:
        if line and each.strip() == line.encode():
            return None
        text = each.decode(errors="replace")
        output = (output + text)[-_MOST_OUTPUT:]
        show(text)
    return output


def failure_of(output: str, image: str) -> str:
    """Return the reason why a container could not be started, from what the program printed."""
    if '"bash"' in output and ("not found" in output or "no such file" in output):
        return f"the image {visible(image, lines=False)} has no bash, which commands need"
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().lstrip().startswith(("error", "docker: ", "fatal"))]
    line = (errors or lines or ["it gave no reason"])[-1]
    return first_line(visible(line, lines=False), 300)
