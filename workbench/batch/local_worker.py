"""Prepares a process of a local cluster before it takes attempts; dask imports it in each (its `worker.preload`)."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

from workbench.batch.worker import prepare_process


def dask_setup(worker: Any) -> None:
    """Prepare the process of this worker; dask calls it by its name."""
    prepare_process()
    # Ctrl+C in a terminal reaches the client and its workers, and the client decides what becomes of the attempts. The
    # signal is not ignored, because programs that the attempts start would inherit that.
    signal.signal(signal.SIGINT, _leave_to_client)


def _leave_to_client(number: int, frame: FrameType | None) -> None:
    """Do nothing."""
