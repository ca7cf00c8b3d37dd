"""Imports litellm in a thread while the person is still typing; called when an engine or a headless run starts."""

from __future__ import annotations

import threading

from workbench.llm.client import load_for

_NAME = "import-litellm"


def import_early(model: str | None) -> threading.Thread | None:
    """Begin the import unless the model is scripted or missing; a call that comes sooner waits for it."""
    if not model or model.startswith("scripted/"):
        return None
    thread = threading.Thread(target=load_for, args=(model,), name=_NAME, daemon=True)
    thread.start()
    return thread


def is_importing() -> bool:
    """Whether the import still runs. Python's own way out could then wait for ever for a lock that it holds."""
    return any(thread.name == _NAME for thread in threading.enumerate())
