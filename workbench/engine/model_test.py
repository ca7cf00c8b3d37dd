"""Tests a model with one call on behalf of a screen, through `ohw models test` in a subprocess.

The subprocess keeps heavy imports out of the screen. The first-run screen offers the models that `llm.discovery`
detected, tests one of them, and shows the outcome.
"""

from __future__ import annotations

import os
import subprocess
import threading
from dataclasses import dataclass
from typing import Final

from workbench.llm.discovery import ModelSource
from workbench.processes.spawn import isolated_python, start
from workbench.text import first_line

PATIENCE = 60.0
"""Seconds until the call times out, including the time to load litellm and, on a local server, the model."""
_LONGEST = 500
KEY_REJECTED: Final = 77
"""The exit code of `ohw models test` if the key is missing or was rejected."""


@dataclass(frozen=True)
class ModelTestOutcome:
    """The outcome of a test call; `line` describes it and is safe to show."""

    works: bool
    line: str
    rejects_key: bool = False
    """Whether the call failed because the API key is missing or was rejected."""


class ModelTest:
    """One test call: `result` makes it and blocks, in any thread; `stop` ends it from another thread."""

    def __init__(self, model: str, api_base: str = "", key: str = "", *, patience: float = PATIENCE) -> None:
        """`key` is used instead of the API key that is configured for the model; `patience` is the time limit in
        seconds.
        """
        self._model = model
        self._key = key
        base = ("--api-base", api_base) if api_base else ()
        options = (*base, "--key-stdin") if key else base
        self._command = isolated_python("workbench", "models", "test", model, *options)
        self._patience = patience
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    @classmethod
    def of(cls, source: ModelSource) -> ModelTest:
        """Return a test call for the first model of a detected source; requires `source.is_named`."""
        return cls(source.models[0], source.api_base)

    def result(self) -> ModelTestOutcome:
        """Make the call and return its outcome; failures are part of the outcome and never raised."""
        try:
            process = self._begun()
        except OSError as error:
            return ModelTestOutcome(False, f"the test cannot be started: {error.strerror or error}")
        if process is None:
            return ModelTestOutcome(False, "the test was stopped")
        with process:
            try:
                output, errors = process.communicate(self._key.encode() or None, timeout=self._patience)
            except subprocess.TimeoutExpired:
                process.kill()
                return ModelTestOutcome(False, f"{self._model} gave no answer within {self._patience:g} s")
        if self._is_stopped:
            return ModelTestOutcome(False, "the test was stopped")
        works = process.returncode == 0
        line = _last_line(output if works else errors) or f"the test ended with {process.returncode}"
        return ModelTestOutcome(works, line, process.returncode == KEY_REJECTED)

    def stop(self) -> None:
        """End the call, or prevent it from starting."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                self._process.kill()

    def _begun(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._is_stopped:
                return None
            pipe = subprocess.PIPE
            stdin = pipe if self._key else subprocess.DEVNULL
            self._process = start(self._command, env=os.environ, stdin=stdin, stdout=pipe, stderr=pipe)
            return self._process


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return first_line(lines[-1].removeprefix("ohw: "), _LONGEST) if lines else ""
