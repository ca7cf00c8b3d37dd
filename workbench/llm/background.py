"""Imports litellm in a thread while the person is still typing; called when an engine or a headless run starts."""

from __future__ import annotations

import threading

from workbench.llm.client import load_litellm


def import_early(model: str | None) -> threading.Thread | None:
    """Begin the import unless the model is scripted or missing; a call that comes sooner waits for it."""
    if not model or model.startswith("scripted/"):
        return None
    thread = threading.Thread(target=load_litellm, name="import-litellm", daemon=True)
    thread.start()
    return thread
