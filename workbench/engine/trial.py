"""One test call of a model for a screen: `ohw models test` in a process of its own, as nothing heavy is loaded here.

A first run offers what was found (`llm.discovery`), has one of it called, and shows what came of that.
"""

from __future__ import annotations

import os
import subprocess
import threading
from dataclasses import dataclass

from workbench.llm.discovery import ModelSource
from workbench.processes.start import isolated_python, start
from workbench.text import first_line

PATIENCE = 60.0
"""Seconds until it counts as no answer: litellm is loaded in them, and a local server may load its model."""
_LONGEST = 500


@dataclass(frozen=True)
class TrialOutcome:
    """What came of a test call, in one line that can be shown as it is."""

    works: bool
    said: str


class ModelTrial:
    """One test call; `result` waits for it in any thread, `stop` ends it from another."""

    def __init__(self, model: str, api_base: str = "", *, patience: float = PATIENCE) -> None:
        self._model = model
        base = ("--api-base", api_base) if api_base else ()
        self._command = isolated_python("workbench", "models", "test", model, *base)
        self._patience = patience
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    @classmethod
    def of(cls, source: ModelSource) -> ModelTrial:
        """The test call of what discovery found; only where `source.is_named`."""
        return cls(source.models[0], source.api_base)

    def result(self) -> TrialOutcome:
        """Make the call. Nothing is raised: whatever went wrong is in the outcome."""
        try:
            process = self._begun()
        except OSError as error:
            return TrialOutcome(False, f"the test cannot be started: {error.strerror or error}")
        if process is None:
            return TrialOutcome(False, "the test was stopped")
        with process:
            try:
                said, complaint = process.communicate(timeout=self._patience)
            except subprocess.TimeoutExpired:
                process.kill()
                return TrialOutcome(False, f"{self._model} gave no answer within {self._patience:g} s")
        if self._is_stopped:
            return TrialOutcome(False, "the test was stopped")
        works = process.returncode == 0
        return TrialOutcome(
            works, _last_line(said if works else complaint) or f"the test ended with {process.returncode}"
        )

    def stop(self) -> None:
        """End the call, or have it not begun."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def _begun(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._is_stopped:
                return None
            pipe = subprocess.PIPE
            self._process = start(self._command, env=os.environ, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe)
            return self._process


def _last_line(told: bytes) -> str:
    lines = told.decode(errors="replace").strip().splitlines()
    return first_line(lines[-1].removeprefix("ohw: "), _LONGEST) if lines else ""
