"""Reports to the front ends, a few times a second, which tool call the model is writing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.llm.model import Delta
from workbench.protocol.live import CallProgress

INTERVAL: Final = 0.2
"""The shortest time between two reports about one call, in seconds."""
_PATH: Final = lazy_pattern(r'"(?:path|file_path|filename)"\s*:\s*("(?:[^"\\]|\\.)*")')
_COMMAND: Final = lazy_pattern(r'"command"\s*:\s*"([a-z_]{1,20})"')


def path_in(arguments: str) -> str:
    """Return the path in the arguments of a call, which may still be incomplete; "" if there is no complete path
    yet.
    """
    match = _PATH.search(arguments)
    if match is None:
        return ""
    try:
        return str(json.loads(match[1]))
    except ValueError:
        return ""


def command_in(arguments: str) -> str:
    """Return the argument `command` if it is one plain word, such as `view`; otherwise ""."""
    match = _COMMAND.search(arguments)
    return match[1] if match is not None else ""


class CallReporter:
    """Reports the progress of calls: at most once in `INTERVAL` seconds for each call, and at once when a new one
    starts.
    """

    def __init__(self, emit: Callable[[CallProgress], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._emit = emit
        self._clock = clock
        self._tool = ""
        self._size = 0
        self._due = 0.0

    def add(self, delta: Delta) -> None:
        """Report the progress, unless the call was reported less than `INTERVAL` seconds ago or has no name yet."""
        is_same, self._size = delta.tool == self._tool and delta.size >= self._size, delta.size
        if not delta.tool or (is_same and self._clock() < self._due):
            return
        self._tool, self._due = delta.tool, self._clock() + INTERVAL
        self._emit(
            CallProgress(tool=delta.tool, path=path_in(delta.text), command=command_in(delta.text), size=delta.size)
        )
