"""Puts a result together: the text a model reads and the fields beside it; used by `impl`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.tools.execute_bash import texts
from workbench.tools.execute_bash.definition import CommandMetadata, ExecuteBashObservation
from workbench.tools.execute_bash.keep import Kept

_NO_OUTPUT = Kept("")


@dataclass(frozen=True)
class Result:
    """What came of a call: output, what is said before it, exit code."""

    kept: Kept = _NO_OUTPUT
    lead: Sequence[str] = ()
    code: int = -1
    timed_out: bool = False


NOTHING = Result()


def answer(command: str, said: list[str], now: CommandMetadata, result: Result) -> ExecuteBashObservation:
    """The observation: what is said before, the output, what is said after, where the shell is."""
    output = result.kept.text.rstrip("\n")
    parts = [*result.lead, *([output] if output else []), *said]
    parts += texts.place(now.working_dir, now.py_interpreter_path)
    return ExecuteBashObservation.from_text(
        "\n".join(parts),
        output=result.kept.text,
        command=command,
        exit_code=result.code,
        timed_out=result.timed_out,
        metadata=now,
        full_output=result.kept.file,
    )
