"""A user with an empty home and a project, for tests of whole programs; the fixture is in conftest."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import psutil
import pytest

from workbench.cli.main import main
from workbench.config.locations import Locations

PATIENCE = 40.0


@dataclass
class Sandbox:
    """A user with an empty home and a project directory."""

    home: Path
    project: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def locations(self) -> Locations:
        return Locations.from_environment(self.env)

    def ohw(self, *args: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, without a terminal."""
        command = [sys.executable, "-m", "workbench", *args]
        environment = {**self.env, **env}
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, cwd=self.project, env=environment, timeout=90
        )

    def command(self, *args: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end in this process, which takes a tenth of the CPU of a new one.

        For commands that neither run an agent nor open a screen. What a start adds (the import path, the streams and
        the exit code of a process) is a promise of `ohw` itself and has its own tests.
        """
        with contextlib.ExitStack() as stack:
            files = {name: stack.enter_context(TemporaryFile()) for name in ("stdin", "stdout", "stderr")}
            streams = {name: io.TextIOWrapper(file, encoding="utf-8") for name, file in files.items()}
            streams["stdin"].write(stdin)
            streams["stdin"].seek(0)
            with self.entered(**env) as patch:
                for name, stream in streams.items():
                    patch.setattr(sys, name, stream)
                try:
                    code = main(args)
                except SystemExit as end:
                    code = int(end.code or 0)
            outputs = {}
            for name in ("stdout", "stderr"):
                streams[name].flush()
                files[name].seek(0)
                outputs[name] = files[name].read().decode()
        return subprocess.CompletedProcess(args, code, **outputs)

    def agent(self, *args: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run an agent to its end in this process (`run`, `replay`), which takes a fifth of the CPU of a new one.

        For tests of what an agent does, writes and reports, with a model that is scripted or on a server of the test.
        What it is to the system (its signals, its end, its memory, its mark and whether it can be traced) is a promise
        of the process, which the tests of `ohw run` start.
        """
        with pytest.MonkeyPatch.context() as patch:
            for lasting in (
                "workbench.processes.descendants.mark_descendants",
                "workbench.engine.sockets.forbid_tracing",
            ):
                patch.setattr(lasting, lambda: None)  # they could not be reversed
            for hooks, name in ((threading, "excepthook"), (sys, "unraisablehook"), (logging, "raiseExceptions")):
                patch.setattr(hooks, name, getattr(hooks, name))  # as a run sets it, until the run ends
            thresholds = gc.get_threshold()
            try:
                return self.command(*args, stdin=stdin, **env)
            finally:
                gc.set_threshold(*thresholds)

    @contextlib.contextmanager
    def entered(self, **env: str) -> Iterator[pytest.MonkeyPatch]:
        """Give this process the environment of the user and the project as its working directory."""
        with pytest.MonkeyPatch.context() as patch, contextlib.chdir(self.project):
            for name in set(os.environ) - set(self.env):
                patch.delenv(name)
            for name, value in {**self.env, **env}.items():
                patch.setenv(name, value)
            yield patch

    def start(self, *args: str, **more: Any) -> subprocess.Popen[str]:
        """Start a command."""
        command = [sys.executable, "-m", "workbench", *args]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
        return subprocess.Popen(command, cwd=self.project, env=self.env, **pipes)

    def script(self, *turns: dict[str, Any]) -> str:
        """Return the name of an offline model that plays these calls, one a turn, and then has nothing to say.

        A turn that has `calls` plays all of them.
        """
        lines = []
        for number, turn in enumerate(turns):
            lines += ["[[turn]]", f'name = "t{number}"']
            lines += [f"{name} = {toml(turn[name])}" for name in ("text", "reasoning") if name in turn]
            for call in turn.get("calls", [turn]):
                lines += ["[[turn.call]]"]
                lines += [
                    f"{name} = {toml(call[name])}" for name in ("tool", "risk", "summary", "arguments") if name in call
                ]
        path = self.home / "script.toml"
        path.write_text("\n".join(lines), encoding="utf-8")
        return f"scripted/{path}"

    def processes(self, without: Container[int] = ()) -> list[psutil.Process]:
        """Return all processes with this home: screens, engines, shells and their children.

        Those whose ids are in `without` are not read, which takes most of the time.
        """
        running = []
        for pid in psutil.pids():
            if pid in without:
                continue
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                if process.status() != psutil.STATUS_ZOMBIE and self._is_here(process):
                    running.append(process)
        return running

    def engines(self) -> list[psutil.Process]:
        """Return the running engines.

        A program that an engine starts has the engine's command line until it is executed; it is not returned.
        """
        found = {process.pid: process for process in self.processes() if "workbench.engine" in command_line(process)}
        return [process for process in found.values() if _parent(process) not in found]

    def engine(self) -> psutil.Process:
        """Return the only running engine."""
        (engine,) = self.engines()
        return engine

    def _is_here(self, process: psutil.Process) -> bool:
        try:
            return process.environ().get("HOME") == str(self.home)
        except psutil.AccessDenied:  # engines and screens show theirs to root alone
            return "workbench" in " ".join(process.cmdline()) and self._holds_a_lock(process.pid)

    def _holds_a_lock(self, pid: int) -> bool:
        """Whether the process has locked a session of this home, or is a screen that a test began."""
        locks = [path.read_text().strip() for path in self.locations.sessions.glob("*.lock")]
        return str(pid) in locks or pid in {each.pid for each in psutil.Process().children(recursive=True)}


def command_line(process: psutil.Process) -> list[str]:
    """Return the words of a process's command line, or none if it has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _parent(process: psutil.Process) -> int | None:
    try:
        return process.ppid()
    except psutil.NoSuchProcess:
        return None


def toml(value: Any) -> str:
    """Return a value as TOML, with invisible characters escaped."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return f'"{"".join(map(_toml_sign, value))}"'
    return json.dumps(value)


def _toml_sign(sign: str) -> str:
    return f"\\U{ord(sign):08x}" if sign in '"\\' or not sign.isprintable() else sign


def bash(command: str, risk: str = "LOW") -> dict[str, Any]:
    """A turn that runs one command."""
    return {"tool": "execute_bash", "risk": risk, "arguments": {"command": command}}


def finish(message: str = "Done.") -> dict[str, Any]:
    """A turn that ends the run."""
    return {"tool": "finish", "arguments": {"message": message}}


def wait_for(is_so: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """Return the first true value of `is_so`; fail if there is none in time."""
    until = time.monotonic() + seconds
    while not (answer := is_so()):
        assert time.monotonic() < until, f"waited {seconds} s for {what}"
        time.sleep(0.05)
    return answer
