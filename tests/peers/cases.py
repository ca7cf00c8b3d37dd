"""The cases tried with every fake: the message, the answers, and the required result."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Literal

TEXT = "Hello there: ä ✓, and no more of it."


@dataclass(frozen=True)
class Answer:
    """One answer of the model, after some HTTP errors; `how` names the damage, if any, and after how many chunks it
    comes.
    """

    text: str = ""
    calls: Sequence[tuple[str, dict[str, Any]]] = ()
    cut_after: int = 0
    how: Literal["truncate", "disconnect", "malformed"] = "truncate"
    fails: Sequence[int] = ()


@dataclass(frozen=True)
class Result:
    """The output and the events of a run."""

    done: CompletedProcess[str]
    project: Path

    @property
    def events(self) -> list[dict[str, Any]]:
        """The JSON lines of the run."""
        return [json.loads(line) for line in self.done.stdout.splitlines() if line.startswith("{")]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [event for event in self.events if event["kind"] == kind]


@dataclass(frozen=True)
class Case:
    """`check` returns the fault of a result, or nothing; `by` names the fakes that can play the case."""

    name: str
    answers: Sequence[Answer]
    check: Callable[[Result], str]
    by: Sequence[str] = field(default=("aimock", "llmock", "litellm proxy"))

    @property
    def cuts_call(self) -> bool:
        """Whether an answer breaks in a call and not before it."""
        return any(answer.cut_after and answer.calls and not answer.text for answer in self.answers)


def bash(command: str) -> tuple[str, dict[str, Any]]:
    """A call that runs one command."""
    return "execute_bash", {"command": command, "security_risk": "LOW", "summary": f"Run {command.split()[0]}"}


def _whole_text(result: Result) -> str:
    texts = [event["text"] for event in result.of("model_responded")]
    if result.done.returncode or texts != [TEXT]:
        return f"exit code {result.done.returncode}, texts {texts}"
    return ""


def _calls(*names: str) -> Callable[[Result], str]:
    def check(result: Result) -> str:
        missing = [name for name in names if not (result.project / name).exists()]
        texts = [event["text"] for event in result.of("model_responded")]
        if result.done.returncode or missing or texts[-1:] != [TEXT]:
            return f"exit code {result.done.returncode}, missing {missing}, texts {texts}"
        return ""

    return check


def _cut(result: Result) -> str:
    """Check that nothing ran and that the run reported a broken answer; return the fault."""
    if (result.project / "half").exists():
        return "a call of a cut answer ran"
    if not result.done.returncode or not result.of("run_ended"):
        return f"exit code {result.done.returncode}: a cut answer was taken for a whole one"
    whole = [event for event in result.of("model_responded") if not event["incomplete"]]
    if whole:
        return f"a cut answer is recorded as whole: {whole}"
    text = "".join(event["text"] for event in result.of("model_responded"))
    return "" if LONG.startswith(text) else f"other words are kept: {text[:80]!r}"


LONG = "word " * 60
CASES = (
    Case("text", [Answer(TEXT)], _whole_text),
    Case("a call", [Answer(calls=[bash("touch one")]), Answer(TEXT)], _calls("one")),
    Case(
        "two calls",
        [Answer(calls=[bash("touch one"), bash("touch two")]), Answer(TEXT)],
        _calls("one", "two"),
    ),
    Case("text and a call", [Answer("I look.", [bash("touch one")]), Answer(TEXT)], _calls("one")),
    Case("a cut text", [Answer(LONG, cut_after=4)], _cut),
    Case("a call behind a cut", [Answer(LONG, [bash("touch half")], cut_after=4)], _cut),
    Case("a cut call", [Answer(calls=[bash("touch half && echo " + LONG)], cut_after=4)], _cut),
    Case(
        "a text that is dropped",
        [Answer(LONG, cut_after=4, how="disconnect")],
        _cut,
        by=("llmock",),
    ),
    Case(
        "a call that is dropped",
        [Answer(calls=[bash("touch half && echo " + LONG)], cut_after=4, how="disconnect")],
        _cut,
        by=("llmock",),
    ),
    Case("errors before it", [Answer(TEXT, fails=(429, 503))], _whole_text, by=("llmock",)),
    Case("a broken chunk", [Answer(LONG, cut_after=4, how="malformed")], _cut, by=("llmock",)),
)
