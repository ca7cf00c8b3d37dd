"""The command lines of podman and docker, which share their subcommands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from workbench.config.container_settings import RUNTIMES
from workbench.errors import UsageError, WorkbenchError
from workbench.processes.spawn import ROOT, find_program, run
from workbench.processes.sweep import pid_namespace
from workbench.text import first_line, visible

_FIRST_PROCESS: Final = "echo {ready}; while read -r _; do :; done"
"""The container's first process. It ends when its input is closed, and while it reads, bash reaps adopted orphans."""
_KILL_MARKED: Final = r"""for round in {1..20}; do
    declare -A parents=() doomed=()
    for directory in /proc/[0-9]*; do
        read -r line < "$directory/stat" || continue
        read -r state parent rest <<< "${line##*) }"
        pid=${directory#/proc/}
        parents[$pid]=$parent
        [[ $state == Z ]] && continue
        while IFS= read -r -d '' entry; do
            [[ $entry == "$1" ]] && doomed[$pid]=1
        done < "$directory/environ"
    done
    count=-1
    while (( count != ${#doomed[@]} )); do
        count=${#doomed[@]}
        for pid in "${!parents[@]}"; do
            [[ ${doomed[${parents[$pid]}]} ]] && doomed[$pid]=1
        done
    done
    (( count )) || break
    kill -9 "${!doomed[@]}"
done 2> /dev/null"""
"""Kills the processes in a container that have an entry in their environment, and their descendants, until there are
none; as `sweep` does from outside, and with builtins of bash alone.
"""
_DROPPED: Final = ("MKNOD", "NET_RAW", "AUDIT_WRITE", "SYS_CHROOT")
_NO_DETACHING: Final = {"podman": "", "docker": "ctrl-^,ctrl-^,ctrl-^,ctrl-^,ctrl-@"}
"""The key sequences that detach from `exec`; docker cannot disable them, so it gets one that nobody types."""
_SECONDS: Final = 20.0
_COPYING: Final = 900.0
"""Seconds to wait for the creation of a container; podman's `vfs` storage copies the whole image for it."""
_MOST_OUTPUT: Final = 20_000


@dataclass(frozen=True)
class BindMount:
    """A path of this machine that is visible in a container."""

    source: str
    target: str
    is_writable: bool

    @property
    def option(self) -> str:
        """The value of the option `--mount`, which is a line of CSV."""
        fields = ["type=bind", f"source={self.source}", f"target={self.target}"]
        return ",".join(map(_csv_field, fields if self.is_writable else [*fields, "readonly"]))


def _csv_field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\n') else text


@dataclass(frozen=True)
class ImageBuild:
    """What an image is built from: `file` is the Dockerfile, `args` are its build arguments."""

    file: Path
    context: Path
    """The directory with the files that the build may copy (the build context)."""
    args: Mapping[str, str] = field(default_factory=dict)
    target: str = ""
    """The build stage to stop at; empty for the last one."""
    beside: Mapping[Path, bytes] = field(default_factory=dict)
    """Other files that the user must trust together with the Dockerfile, with their content."""


@dataclass(frozen=True)
class ContainerRuntime:
    """The program that runs containers: podman or docker."""

    program: str
    is_podman: bool

    @classmethod
    def find(cls, name: str = "") -> ContainerRuntime:
        """Return the named program, or the first one that is installed. Raises UsageError if there is none."""
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
        """Return the options that run commands as `user`, by default as this process's user, who then owns the files
        they write.
        """
        own = f"{os.getuid()}:{os.getgid()}"
        rootless = ["--userns=keep-id"] if self.is_podman and os.getuid() != 0 else []
        return [*rootless, "--user", user or own]

    def memory_options(self, memory: str) -> list[str]:
        """Return the options that limit memory including swap to `memory`, such as "4g"; none if it is empty."""
        return ["--memory", memory, "--memory-swap", memory] if memory else []

    def run_command(self, name: str, image: str, options: Iterable[str]) -> list[str]:
        """Return the command that runs a container until its standard input is closed; it never pulls the image."""
        first = _FIRST_PROCESS.format(ready=ready_line(name))
        dropped = [word for each in _DROPPED for word in ("--cap-drop", each)]
        proxied = ["--http-proxy=false"] if self.is_podman else []
        limits = ["--security-opt", "no-new-privileges", *dropped, "--pids-limit", "4096"]
        fixed = ["--rm", "--pull", "never", "--name", name, *proxied, *limits, "--entrypoint", "bash"]
        return [self.program, "run", "-i", *fixed, *options, image, "-c", first]

    def has_image(self, image: str) -> bool:
        """Return whether this machine has the image. Raises OSError."""
        return self._output("image", "inspect", "--format", "{{.Id}}", "--", image)[0] == 0

    def pull_command(self, image: str) -> list[str]:
        """Return the command that pulls an image, printing its progress."""
        return [self.program, "pull", "--", image]

    def build_command(self, build: ImageBuild, image: str, *, reaches_hosts: bool) -> list[str]:
        """Return the command that builds an image from a Dockerfile on its standard input.

        Unless `reaches_hosts`, the build steps have no network. With podman, a file NAME.dockerignore beside the
        Dockerfile replaces `.dockerignore`; docker cannot do that, because it does not learn the Dockerfile's name.
        """
        network = [] if reaches_hosts else ["--network", "none"]
        ignored = build.file.with_name(f"{build.file.name}.dockerignore")
        more = ["--ignorefile", str(ignored)] if self.is_podman and ignored.is_file() else []
        # Without it, docker leaves the container of a step that failed.
        more.append("--force-rm")
        args = [f"--build-arg={name}={value}" for name, value in build.args.items()]
        target = [f"--target={build.target}"] if build.target else []
        return [self.program, "build", *network, *more, *args, *target, "-f", "-", "-t", image, str(build.context)]

    def create(self, name: str, image: str, labels: Mapping[str, str]) -> None:
        """Create a container, which is never started, from an image on this machine. Raises OSError or
        WorkbenchError.
        """
        words = [word for label, value in labels.items() for word in ("--label", f"{label}={value}")]
        fixed = ["--pull", "never", "--network", "none", "--name", name]
        code, _, errors = self._output("create", *fixed, *words, image, "true", timeout=_COPYING)
        if code:
            raise WorkbenchError(f"no container of {visible(image, lines=False)}: {failure_of(errors, image)}")

    def archive_command(self, name: str, path: str) -> list[str]:
        """Return the command that prints a directory of a container as a tar archive."""
        return [self.program, "cp", f"{name}:{path}", "-"]

    def exec_command(
        self, name: str, argv: Sequence[str], directory: str, variables: Iterable[str], user: str
    ) -> list[str]:
        """Return the command that runs a program on a terminal in a running container.

        The `variables` are names; the program gets the values that they have in the environment of the returned
        command.
        """
        passed = [word for each in variables for word in ("--env", each)]
        keys = ["--detach-keys", _NO_DETACHING[self.name]]
        user_option = ["--user", user or f"{os.getuid()}:{os.getgid()}"]
        return [self.program, "exec", "-i", "-t", *keys, *user_option, *passed, "--workdir", directory, name, *argv]

    def program_command(
        self, name: str, argv: Sequence[str], directory: str, variables: Mapping[str, str], user: str
    ) -> list[str]:
        """Return the command that runs a program without a terminal in a running container, with these variables."""
        passed = [word for each, value in variables.items() for word in ("--env", f"{each}={value}")]
        user_option = ["--user", user or f"{os.getuid()}:{os.getgid()}"]
        return [self.program, "exec", *user_option, *passed, "--workdir", directory, name, *argv]

    def may_enter(self, name: str, directories: Sequence[str], user: str) -> bool:
        """Return whether the user may list these directories in a running container. Raises OSError."""
        script = "for each; do [[ -r $each && -x $each ]] || exit; done; echo yes"
        command = self.program_command(name, ["bash", "-c", script, "bash", *directories], "/", {}, user)
        return self._output(*command[1:])[1] == "yes"

    def kill_command(self, name: str, mark: str, user: str) -> list[str]:
        """Return the command that kills the user's processes in a container that have an entry in their environment,
        and the descendants of these.
        """
        return self.program_command(name, ["bash", "-c", _KILL_MARKED, "bash", mark], "/", {}, user)

    def beside(self, name: str, image: str, label: str) -> Callable[[str, Sequence[str]], list[str]] | None:
        """Return what returns the command that runs a program of this machine in a directory, in the network of a
        container; None for podman, whose users can enter that by themselves, and where containers run in a virtual
        machine.
        """
        is_needed = not self.is_podman and sys.platform == "linux"
        return partial(self.beside_command, name=name, image=image, label=label) if is_needed else None

    def beside_command(self, directory: str, argv: Sequence[str], *, name: str, image: str, label: str) -> list[str]:
        """Return the command that runs a program of this machine in the network of a container, in a directory.

        The program sees the directories of this machine that it and Python are in, read-only; what runs in the
        container sees nothing of it.
        """
        paths = (directory, ROOT, sys.executable, sys.base_prefix, "/usr", "/lib", "/lib64")
        tops = sorted({f"/{Path(path).parts[1]}" for path in paths})
        mounts = [BindMount(os.path.realpath(each), each, False).option for each in tops if Path(each).exists()]
        limits = ["--security-opt", "no-new-privileges", "--cap-drop", "ALL", *self.user_options("")]
        fixed = ["--rm", "--pull", "never", "--network", f"container:{name}", "--label", label, *limits]
        mount_words = [word for each in mounts for word in ("--mount", each)]
        at = ["--workdir", directory, "--entrypoint", argv[0]]
        return [self.program, "run", *fixed, *mount_words, *at, image, *argv[1:]]

    def names(self, label: str) -> list[tuple[str, str]]:
        """Return the name, and the label's value, of each container with a label. Raises OSError."""
        shape = '{{.Names}} {{index .Labels "%s"}}' if self.is_podman else '{{.Names}} {{.Label "%s"}}'
        _, output, _ = self._output("ps", "-a", "--filter", f"label={label}", "--format", shape % label)
        pairs = [line.split(maxsplit=1) for line in output.splitlines()]
        return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]

    def remove(self, name: str) -> None:
        """Kill and remove a container, if it exists. Raises OSError."""
        if self.is_podman:  # its `rm` waits 10 s for programs that ignore SIGTERM, as every first process does
            self._output("kill", name)
        self._output("rm", "-f", name)

    def _output(self, *words: str, timeout: float = _SECONDS) -> tuple[int, str, str]:
        done = run([self.program, *words], capture_output=True, timeout=timeout)
        return done.returncode, done.stdout.decode(errors="replace").strip(), done.stderr.decode(errors="replace")


def ready_line(name: str) -> str:
    """Return the line that a container's first process prints when it runs."""
    return f"{name}-is-up"


def first_process(name: str) -> int:
    """Return the pid that a container's first process has on this machine; 0 if it is not found."""
    line, own = ready_line(name).encode(), pid_namespace("self")
    for pid in filter(str.isdigit, os.listdir("/proc") if Path("/proc/self").exists() else ()):  # noqa: PTH208
        with suppress(OSError):
            if line in Path(f"/proc/{pid}/cmdline").read_bytes() and pid_namespace(pid) not in ("", own):
                return int(pid)
    return 0


def output_until(line: str, client: subprocess.Popen[bytes], show: Callable[[str], None]) -> str | None:
    """Read the output up to `line`, passing the lines before it to `show`; return None when it comes.

    If it never comes, or `line` is empty, read to the end and return the last part of the output.
    """
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
    """Return, from the runtime's output, the reason why it failed."""
    if '"bash"' in output and ("not found" in output or "no such file" in output):
        return f"the image {visible(image, lines=False)} has no bash, which commands need"
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().lstrip().startswith(("error", "docker: ", "fatal"))]
    line = (errors or lines or ["it gave no reason"])[-1]
    return first_line(visible(line, lines=False), 300)
