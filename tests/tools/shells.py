"""A shell for the tests of execute_bash, and helpers that look at processes."""

import re
import time
from collections.abc import Callable
from typing import Any

import psutil

from workbench.tools.execute_bash.definition import BashTool, ExecuteBashAction, ExecuteBashObservation

BACKGROUND = """
import subprocess
subprocess.Popen(["sleep", MARK])
subprocess.Popen(["setsid", "sleep", MARK])
subprocess.run(["sh", "-c", "(setsid nohup sleep " + MARK + " &) >/dev/null 2>&1"])
print("started", flush=True)
"""
"""Python that starts processes which would outlive it."""


class Bash:
    """The whole tool, called with arguments as by a model."""

    def __init__(self, directory: Any, **params: Any) -> None:
        self.tool = BashTool(directory, **params)

    def __call__(self, command: str, **arguments: Any) -> ExecuteBashObservation:
        action = self.tool.action_from_arguments({"command": command, **arguments})
        assert isinstance(action, ExecuteBashAction)
        observation = self.tool(action)
        assert isinstance(observation, ExecuteBashObservation)
        return observation


def assert_idle(bash: Bash) -> None:
    """Fail if a command still runs; end it then, so that the next test has an idle shell."""
    seen = bash("true")
    if seen.is_error:
        bash("true", reset=True)
    assert not seen.is_error, seen.text


def until_printed(bash: Bash, pattern: str, printed: str = "") -> str:
    """Wait until the running command has printed text that matches; return all of it."""
    for _ in range(100):
        if re.search(pattern, printed):
            return printed
        seen = bash("", timeout=0.3)
        assert not seen.is_error, seen.text
        printed += seen.output
    raise AssertionError(f"{pattern!r} does not come: {printed[-500:]!r}")


def eventually(condition: Callable[[], object], what: str, seconds: float = 15.0) -> object:
    """Return the first true value of the condition; fail with `what` if there is none in time."""
    until = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < until, what
        time.sleep(0.02)
    return answer


def processes(mark: str, name: str = "") -> list[psutil.Process]:
    """Return the processes with an argument that is exactly `mark`, with that name if one is given."""
    pids = []
    for process in psutil.process_iter():
        try:
            is_named = not name or process.name() == name
            if is_named and mark in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                pids.append(process)
        except psutil.Error:
            continue
    return pids
