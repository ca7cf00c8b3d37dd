"""Merged drafts that wait for a decision: what was shown is what is written, also after a restart."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict

from workbench.tools.completion import Answer
from workbench.tools.kept import Kept

_NAME = "drafts.json"
_MOST = 8


class Drafts:
    """The last answers of the model, each by the question it belongs to."""

    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._answers = _loaded(kept.get(_NAME))

    def get(self, prompt: str) -> Answer | None:
        """The answer to this very question, if it was given."""
        return self._answers.get(_key(prompt))

    def put(self, prompt: str, answer: Answer) -> None:
        """Keep an answer; the oldest makes room."""
        self._answers[_key(prompt)] = answer
        for name in list(self._answers)[:-_MOST]:
            del self._answers[name]
        self._save()

    def take(self, prompt: str) -> Answer | None:
        """The answer, which is not needed any more."""
        answer = self._answers.pop(_key(prompt), None)
        if answer is not None:
            self._save()
        return answer

    def _save(self) -> None:
        with suppress(OSError):  # then it is lost with a restart, and the model is asked again
            entries = {name: asdict(answer) for name, answer in self._answers.items()}
            self._kept.put(_NAME, json.dumps(entries).encode())


def _key(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()


def _loaded(kept: bytes | None) -> dict[str, Answer]:
    try:
        return {name: Answer(**entry) for name, entry in json.loads(kept or b"{}").items()}
    except (ValueError, TypeError, AttributeError):  # damaged: the model is asked again
        return {}
