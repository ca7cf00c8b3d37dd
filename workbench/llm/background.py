"""Imports litellm in a thread while the person is still typing; called when an engine or a headless run starts."""

from __future__ import annotations

import resource
import threading

from workbench.llm.client import load_for
from workbench.llm.model import ModelError

_NAME = "import-litellm"
_LEAST_MEMORY = 1_000_000 * 1024
"""Bytes of address space for litellm and the threads of a session; 700,000 kB were too few now and then."""


def import_early(model: str | None) -> threading.Thread | None:
    """Begin the import unless the model is scripted or missing; a call that comes sooner waits for it.

    Raises ModelError where the limit of memory is too low for it: an import that ends in the middle may never return.
    """
    if not model or model.startswith("scripted/"):
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit not in (resource.RLIM_INFINITY, -1) and limit < _LEAST_MEMORY:
        raise ModelError(
            f"the memory limit of {limit // 1024:,} kB is too low for this model: "
            f"set it to {_LEAST_MEMORY // 1024:,} kB at least (ulimit -v), or to unlimited"
        )
    thread = threading.Thread(target=load_for, args=(model,), name=_NAME, daemon=True)
    thread.start()
    return thread


def is_importing() -> bool:
    """Whether the import still runs. Python's own way out could then wait for ever for a lock that it holds."""
    return any(thread.name == _NAME for thread in threading.enumerate())
