"""A model that merges drafts, for the tests of `edit_file`: plays its answers and records its requests."""

from __future__ import annotations

from collections.abc import Callable

from workbench.tools import Answer, CompletionError


class Merger:
    """Each answer is a text, an error, or a function of the prompt; the last one is repeated."""

    def __init__(self, *answers: str | CompletionError | Callable[[str], str]) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []
        self.interrupted = False

    def __call__(self, prompt: str) -> Answer:
        self.prompts.append(prompt)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, CompletionError):
            raise answer
        return Answer(answer if isinstance(answer, str) else answer(prompt), "fake/merger", 0.002, 120, 40)

    def interrupt(self) -> None:
        self.interrupted = True


def merged(text: str) -> str:
    """Return an answer in the requested format."""
    return f"<merged>\n{text}\n</merged>"
