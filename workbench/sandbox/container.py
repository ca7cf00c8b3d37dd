"""The container of one session: the session's shells run in it, its other programs do not.

The container's first process reads from a pipe of this process and ends when the pipe is closed. So the container ends
with the session, and with this process, however that ends. Its files are those of the image; the workspace has the same
path as outside, and protected paths in it are read-only.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

from msgspec.structs import replace

from workbench.config.container_settings import ContainerSettings
from workbench.processes.launch import IN_CONTAINER, ProgramStart
from workbench.processes.leftovers import has_ended, mark, prefix
from workbench.processes.shell_environment import NONCE_NAME, PASSED
from workbench.processes.spawn import start
from workbench.protocol.live import EngineState
from workbench.sandbox.container_image import ContainerImage
from workbench.sandbox.container_mounts import own_home, own_mounts, reach_outside, with_settings_mounts
from workbench.sandbox.container_network import ContainerNetwork
from workbench.sandbox.container_proof import has_memory_limit, what_is_open
from workbench.sandbox.container_runtime import (
    BindMount,
    ContainerRuntime,
    ImageBuild,
    failure_of,
    first_process,
    output_until,
    ready_line,
)
from workbench.sandbox.devcontainer import MayUse
from workbench.sandbox.sandbox import PROXY_VARIABLES, Boundary
from workbench.text import first_line, visible
from workbench.web.network import NetworkPolicy

LABEL: Final = "ohw.process"
"""The label of a container whose value, a `leftovers.mark`, identifies the process that started the container."""
_PROGRAM: Final = "bash"
_STARTING: Final = "starting the container"
CANNOT_START: Final = "commands run in a container, which cannot be started: {reason}"
"""The error message of a turn if the container cannot be started."""
_END: Final = 3.0


Phase = Literal["starting", "up", "failed", "closed"]


class Container:
    """Starts shells in a container of the session; may be used from several threads.

    It starts in a background thread, and `launch` waits for it.
    """

    granted: Sequence[str] = ()
    """Empty: the settings, not rules, name the directories that a container shares."""

    def __init__(
        self,
        settings: ContainerSettings,
        boundary: Boundary,
        outputs: Path,
        policy: NetworkPolicy | None = None,
        may_use: MayUse = lambda files: False,
        *,
        build: ImageBuild | None = None,
        problem: str = "",
    ) -> None:
        """`outputs` is a directory that commands may read. With a `policy`, a proxy asks about hosts. `may_use` returns
        whether the user trusts files. A `problem` prevents the start. Raises UsageError without a runtime.
        """
        self._settings = settings
        self._boundary = boundary
        self.container_path = boundary.container_path
        """If the workspace was copied from an image: its path there, which the container has too."""
        self._outputs = outputs
        self.network = ContainerNetwork(policy) if policy is not None else None
        """The network with a proxy that asks about hosts; None if the setting is another one."""
        self._contains = settings.network != "open" and not reach_outside(settings.mounts, boundary.home)
        self._runtime = ContainerRuntime.find(settings.runtime)
        self._image = ContainerImage(self._runtime, boundary, settings, may_use, build=build, problem=problem)
        self._on_change: Callable[[], None] = lambda: None
        self._changed = threading.Condition()
        self._phase: Phase = "starting"
        self._step = _STARTING
        self._failure = ""
        self._name = ""
        self._first_pid = 0
        self._client: subprocess.Popen[bytes] | None = None
        self._private = Path(tempfile.mkdtemp(prefix=prefix("container")))
        self._start()

    @property
    def image(self) -> str:
        """The name of the image, or of the file that it is built from, safe to show."""
        return visible(self._settings.origin, lines=False)

    @property
    def failure(self) -> str:
        """Why the start of the container failed; empty if it did not."""
        return self._failure if self._phase == "failed" else ""

    @property
    def holds(self) -> bool:
        """True: commands run in the container or not at all."""
        return True

    @property
    def containment(self) -> str:
        """The reason to record with a decision; empty if the container is not up, or open in some way."""
        return IN_CONTAINER if self._phase == "up" and self._contains else ""

    @property
    def directory(self) -> Path:
        """The directory for temporary files of tools; it has the same path in the container, where it is read-only."""
        return self._private

    def with_container(self, state: EngineState) -> EngineState:
        """Return the state with the container's current image, phase and failure."""
        phase = "failed" if self._phase == "closed" else self._phase
        state = replace(state, container=self.image, container_phase=phase, container_failure=self.failure)
        is_cut_off = phase == "up" and self.network is not None and not self.network.is_served
        return replace(state, container_network="none" if is_cut_off else self._settings.network)

    def when_changed(self, do: Callable[[], None]) -> None:
        """Call `do` in a thread whenever the container has come up or failed; at once if it already has."""
        self._on_change = do
        if self._phase != "starting":
            do()

    def await_start(self, is_canceled: Callable[[], bool], show: Callable[[str], None]) -> str:
        """Wait until the container is up or the wait is canceled, passing each step to `show`; return why it failed."""
        step = ""
        while self._phase == "starting" and not is_canceled():
            if self._step != step:
                step = self._step
                show(step)
            with self._changed:
                self._changed.wait(0.1)
        return self.failure

    def is_waiting(self, program: str) -> bool:
        """Return whether any command in the container is waiting for the user to decide on a host."""
        return self.network is not None and self.network.is_waiting()

    def refused_since(self, program: str, since: float) -> Sequence[str]:
        """Return one line for each host that was refused to commands since `since`, a time of `time.monotonic`."""
        return self.network.refused_since(since) if self.network is not None else ()

    @contextmanager
    def launch(
        self,
        argv: Sequence[str],
        directory: Path | str,
        env: Mapping[str, str],
        *,
        writable: Sequence[Path] = (),
        readable: Sequence[Path] = (),
        private: Path | None = None,
        name: str = "",
    ) -> Iterator[ProgramStart]:
        """Yield how to start a shell in the container, once that is up. Raises OSError if it is not. A container that
        has ended is replaced with a new one, which the next launch uses.
        """
        self._await_phase()
        words, user, mark_of_all = [_PROGRAM, *argv[1:]], self._settings.user, f"{NONCE_NAME}={env.get(NONCE_NAME, '')}"
        shell = self._runtime.exec_command(self._name, words, str(directory), PASSED, user)
        kill_all = self._runtime.kill_command(self._name, mark_of_all, user)
        yield ProgramStart(shell, env, has_own_terminal=True, kill_all=kill_all)

    def program(self, argv: Sequence[str], directory: str, variables: Mapping[str, str]) -> Sequence[str]:
        """Return the command that runs a program in the container, once that is up. Raises OSError like `launch`."""
        self._await_phase()
        return self._runtime.program_command(self._name, argv, directory, variables, self._settings.user)

    def _await_phase(self) -> None:
        """Wait until the container is up. Raises OSError if it is not; one that has ended is replaced."""
        with self._changed:
            self._changed.wait_for(lambda: self._phase != "starting")
            if has_ended := self._phase == "up" and self._has_ended():
                self._phase = "starting"
        if has_ended:
            self._start()
            raise OSError(0, _ENDED.format(image=self.image))
        if self._phase != "up":
            raise OSError(0, f"the container cannot be started: {self._failure}" if self._failure else "it has ended")

    def close(self) -> None:
        """End the container and everything in it."""
        with self._changed:
            self._phase = "closed"
            self._changed.notify_all()
        self._image.stop()
        self._release()
        if self.network is not None:
            self.network.close()
        shutil.rmtree(self._private, ignore_errors=True)

    def _start(self) -> None:
        threading.Thread(target=self._come_up, name="container-start", daemon=True).start()

    def _come_up(self) -> None:
        failure = "its start failed"
        try:
            self._release()  # one that has ended
            failure = self._image.build(self._show) or self._run()
            if failure and self._image.is_missing:
                failure = self._image.pull(self._show) or self._run()
        except OSError as error:
            failure = str(error.strerror or error)
        finally:
            with self._changed:
                if self._phase == "starting":
                    self._phase, self._failure = ("failed", failure) if failure else ("up", "")
                self._changed.notify_all()
        if self._phase != "up":
            self._release()
        if self._phase == "closed":
            return
        self._on_change()
        _remove_leftovers(self._runtime)

    def _run(self) -> str:
        """Start the container and wait for its first process; return why that failed, or an empty string."""
        self._show(_STARTING)
        self._name = f"ohw-{os.getpid()}-{secrets.token_hex(4)}"
        mounts = own_mounts(self._boundary, self._settings, self._private, self._outputs)
        command = self._runtime.run_command(self._name, self._image.name, self._options(mounts))
        pipe = subprocess.PIPE
        # It may outlive this process, to remove the container: SIGPIPE must not end it when it prints something.
        # Podman's monitor leaves a file named "oom" in its working directory when memory runs out.
        client = start(
            command,
            cwd=self._private,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            restore_signals=False,
        )
        self._client = client
        output = output_until(ready_line(self._name), client, lambda line: self._show(f"{_STARTING}: {line}"))
        if output is not None:
            client.wait()
            return failure_of(output, self.image)
        self._first_pid = first_process(self._name)
        own = (str(self._private), str(self._boundary.workspace))
        fault = _fault(self._first_pid, mounts, self._boundary, self._settings, self._runtime)
        if fault := fault or _fault_of_user(self._settings.user, self._name, own, self._runtime):
            return fault
        if self.network is not None:
            self.network.serve(self._first_pid, self._runtime.beside(self._name, self._image.name, f"{LABEL}={mark()}"))
        return ""

    def _show(self, output: str) -> None:
        self._step = first_line(visible(output, lines=False), 120)

    def _options(self, mounts: Sequence[BindMount]) -> list[str]:
        settings = self._settings
        network = [] if settings.network == "open" else ["--network", "none"]
        home = own_home(self._private, settings.user)
        proxy = PROXY_VARIABLES if self.network is not None else {}
        variables = {**({"HOME": home} if home else {}), **proxy, **settings.env}
        return [
            *("--label", f"{LABEL}={mark()}"),
            *self._runtime.user_options(settings.user),
            *self._runtime.memory_options(settings.memory),
            *network,
            *(word for each in with_settings_mounts(mounts, settings) for word in ("--mount", each.option)),
            *(word for name, value in variables.items() for word in ("--env", f"{name}={value}")),
            *("--workdir", str(self._boundary.workspace)),
        ]

    def _has_ended(self) -> bool:
        """Return whether something outside this process ended the container."""
        return (self._client is not None and self._client.poll() is not None) or (
            bool(self._first_pid) and not Path(f"/proc/{self._first_pid}").exists()
        )

    def _release(self) -> None:
        """End the container, if it is up, and wait a few seconds for its end."""
        if self.network is not None:
            self.network.release()
        client = self._client
        if client is None:
            return
        assert client.stdin is not None
        assert client.stdout is not None
        with suppress(OSError):
            client.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            client.wait(_END)
        if client.returncode is None:
            # It is never killed: it would leave a container that it has created and not started.
            threading.Thread(target=client.wait, name="container-end", daemon=True).start()
            with suppress(OSError):
                self._runtime.remove(self._name)
        client.stdout.close()


def _fault(
    process: int,
    mounts: Sequence[BindMount],
    boundary: Boundary,
    settings: ContainerSettings,
    runtime: ContainerRuntime,
) -> str:
    """Return why a container that runs may not be used; empty if it may, or if its first `process` is not known (0)."""
    if not process:
        return ""
    workspace = str(boundary.workspace.resolve())
    if gap := what_is_open(process, mounts, workspace, reaches_hosts=settings.network == "open"):
        return f"the container is not closed: {gap}"
    if settings.memory and not has_memory_limit(process):
        return _NO_MEMORY_LIMIT.format(runtime=runtime.name, memory=settings.memory)
    return ""


def _fault_of_user(user: str, name: str, directories: Sequence[str], runtime: ContainerRuntime) -> str:
    """Return why a `user` of the settings cannot work in the container; empty if they can, or are this process's."""
    if not user or runtime.may_enter(name, directories, user):
        return ""
    return _NO_ACCESS.format(user=visible(user, lines=False), own=f"{os.getuid()}:{os.getgid()}")


def _remove_leftovers(runtime: ContainerRuntime) -> None:
    """Remove containers of processes that were killed together with the runtime's client."""
    with suppress(OSError):
        for name, process in runtime.names(LABEL):
            if has_ended(*process.rpartition("-")[::2]):
                runtime.remove(name)


_ENDED: Final = (
    "the container of {image} was ended from outside. The next command gets a new one, without what was installed in "
    "the old one or written outside the workspace"
)
_NO_ACCESS: Final = (
    'its user "{user}" cannot read your files: set `user = "{own}"` in [container], which is you and has priority over '
    "devcontainer.json"
)
_NO_MEMORY_LIMIT: Final = (
    '{runtime} does not enforce `memory = "{memory}"` here, which for an ordinary user needs cgroups v2; remove the '
    "setting to do without a limit"
)
