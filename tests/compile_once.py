"""Lets one worker compile the tests of a fresh checkout, while the others wait for the compiled files.

pytest compiles each module of tests with its own rewritten assertions, and hypothesis reads the constants of all
modules; both store the result. Workers that start at the same time would each do all of it: 9 s of CPU per worker.
"""

from __future__ import annotations

import contextlib
import fcntl
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_COMPILED = f"*.{sys.implementation.cache_tag}-pytest-{pytest.__version__}.pyc"


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect at once, unless another worker of this run is compiling the tests."""
    with _one_compiles(session.config):
        return (yield)


@contextlib.contextmanager
def _one_compiles(config: pytest.Config) -> Iterator[None]:
    if not hasattr(config, "workerinput"):  # it is not a worker of xdist
        yield
        return
    # This file is what they lock; the kernel unlocks it if a worker dies.
    with Path(__file__).open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)
            compiles = False
        else:
            compiles = not any(Path(__file__).parent.glob(f"*/__pycache__/{_COMPILED}"))
        if not compiles:
            fcntl.flock(lock, fcntl.LOCK_UN)
        yield
