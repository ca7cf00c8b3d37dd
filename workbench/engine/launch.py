"""The parameters of an engine, and its start as a detached process that reads them from stdin.

A provider's key travels through that pipe alone, never in arguments or in an environment that tools inherit.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workbench.config.locations import Locations, private_directory
from workbench.config.settings import Settings
from workbench.errors import WorkbenchError
from workbench.processes.spawn import isolated_python, python_variables, start
from workbench.text import visible

_DIRECTORIES = ("config", "data", "state", "runtime")
_FIELDS = ("session_id", "workspace", "is_new", "has_user")
"""The fields of a `Launch` that need no conversion for JSON."""


class EngineRefused(WorkbenchError):
    """The engine refused to serve this session; the message is its one-line reason."""


@dataclass(frozen=True)
class Launch:
    """The parameters with which one engine serves one session.

    If `is_new`, the session is created in `workspace`; otherwise it is opened in the workspace that it already has.
    """

    locations: Locations
    settings: Settings
    session_id: str
    workspace: str = ""
    is_new: bool = False
    has_user: bool = True
    """Whether a user can answer, now or later, what a running call asks; otherwise what it asks for is refused."""
    starts_engine: bool = field(default=True, compare=False)
    """Whether an engine is started if none runs; otherwise connecting is refused."""
    checks_unsaved: bool = field(default=False, compare=False)
    """Whether the front end that connects is asked about unsaved files; it tells the engine so in its greeting."""
    variables: Mapping[str, str] = field(default_factory=lambda: python_variables(os.environ), compare=False)
    """The user's `PYTHON*` variables: for the user's programs, not for the engine."""

    def to_json(self) -> str:
        """Return the launch as one JSON object, including the API key if the settings hold one."""
        directories = {name: str(getattr(self.locations, name)) for name in _DIRECTORIES}
        settings = asdict(self.settings)
        rest = {name: getattr(self, name) for name in _FIELDS}
        return json.dumps({"locations": directories, "settings": settings, "variables": dict(self.variables), **rest})

    @classmethod
    def from_json(cls, text: str) -> Launch:
        """Parse the output of `to_json`. Raises ValueError, KeyError or TypeError for anything else."""
        data: dict[str, Any] = json.loads(text)
        directories = Locations(**{name: Path(data["locations"][name]) for name in _DIRECTORIES})
        lists = {name: tuple(value) for name, value in data["settings"].items() if isinstance(value, list)}
        settings = Settings(**{**data["settings"], **lists})
        return cls(directories, settings, variables=data["variables"], **{name: data[name] for name in _FIELDS})


def start_engine(launch: Launch) -> int:
    """Start an engine in its own process session, wait until it listens, and return its pid.

    Raises EngineRefused if it cannot be started or refuses the session.
    """
    process = _spawn(launch)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with process.stdin as stdin:
            stdin.write(launch.to_json().encode())
    except BrokenPipeError:
        # It has already ended; its answer is read next.
        pass
    with process.stdout as stdout:
        answer = stdout.readline()
    threading.Thread(target=process.wait, daemon=True, name="engine-reaper").start()
    _check(answer, launch)
    return process.pid


def log_path(locations: Locations, session_id: str) -> Path:
    """Return the log file of a session's engine."""
    return locations.logs / f"{session_id}.log"


def _spawn(launch: Launch) -> subprocess.Popen[bytes]:
    private_directory(launch.locations.logs)
    log = log_path(launch.locations, launch.session_id)
    command = isolated_python("workbench.engine")
    env = {name: value for name, value in os.environ.items() if name != "OHW_API_KEY"}
    try:
        with open(log, "ab", opener=_private) as errors:
            return start(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=env,
                start_new_session=True,
            )
    except OSError as error:
        raise EngineRefused(f"the engine cannot be started: {error.strerror or error}") from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _check(answer: bytes, launch: Launch) -> None:
    try:
        reply = json.loads(answer)
    except ValueError:
        log = log_path(launch.locations, launch.session_id)
        raise EngineRefused(f"the engine did not start; see {log}") from None
    if reply.get("kind") != "hello":
        raise EngineRefused(visible(str(reply.get("reason", "the engine did not start")), lines=False))
