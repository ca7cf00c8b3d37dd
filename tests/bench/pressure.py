"""How busy the machine was: the kernel's figures of the time in which something waited for a processor."""

from __future__ import annotations

import re
import time
from pathlib import Path

_FILE = Path("/proc/pressure/cpu")
_TOTAL = re.compile(r"^some .*total=(\d+)", re.MULTILINE)


class Pressure:
    """Measures since its creation; the kernel reports nothing before Linux 4.20 and on other systems."""

    def __init__(self) -> None:
        self._began, self._waited = time.monotonic(), _waited()

    @property
    def share(self) -> float | None:
        """The share of the time, from 0 to 1, in which a process waited; None if the kernel does not report it."""
        now = _waited()
        if now is None or self._waited is None:
            return None
        return (now - self._waited) / max(time.monotonic() - self._began, 1e-6)


def _waited() -> float | None:
    """Return the seconds since the start of the system in which at least one process waited for a processor."""
    try:
        total = _TOTAL.search(_FILE.read_text())
    except OSError:
        return None
    return int(total[1]) / 1e6 if total else None
