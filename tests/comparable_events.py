"""Compares the events of one task that ran in two places."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.protocol.codec import to_plain
from workbench.protocol.events import Event, VersionTaken

OF_A_RUN = {
    *("at", "id", "latency", "action_id", "call_id", "fingerprint", "version"),
    *("pid", "seq", "seen", "usage", "parts"),
    *("username", "hostname", "py_interpreter_path"),
}
"""Fields that differ between two runs of one task or between two machines, or depend on the lengths of paths."""

_INTERPRETER = re.compile(r"\n\[Python interpreter: .*\]")


def comparable(events: Iterable[Event], project: str, home: str) -> list[object]:
    """Return the events without times, ids and paths, and without snapshots."""

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {name: plain(part) for name, part in value.items() if name not in OF_A_RUN}
        if isinstance(value, list | tuple):
            return [plain(part) for part in value]
        if isinstance(value, str):
            text = _INTERPRETER.sub("", value.replace(project, "PROJECT").replace(home, "HOME"))
            return re.sub(r"\d+", "N", text)
        return 0.0 if isinstance(value, float) else value

    # A snapshot is recorded when git is done, which may be before or after the next event.
    return [plain(to_plain(event)) for event in events if not isinstance(event, VersionTaken)]
