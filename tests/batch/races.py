"""Races in tests: scripted models that each solve the task in their own way, or not, and races that are written."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from tests.batch.runs import WRITE
from tests.sandbox import Sandbox, bash, finish
from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.race import TASK, Race
from workbench.batch.results import Results
from workbench.batch.run_directory import RunOptions
from workbench.batch.task import TaskSpec
from workbench.config.locations import Locations

CALC = "def add(a, b):\n    return a - b\n"
CHECK = "grep -q 'a + b' calc.py"
"""The check of the task, which is to make `add` add."""


def edit(text: str) -> dict[str, Any]:
    """A turn that replaces the wrong line."""
    arguments = {
        "command": "str_replace",
        "path": "{workspace}/calc.py",
        "old_str": "    return a - b\n",
        "new_str": text,
    }
    return {"tool": "str_replace_editor", "risk": "LOW", "arguments": arguments}


TURNS = {
    "good": [edit("    return a + b\n"), WRITE, finish()],
    "wrong": [edit("    return a * b\n"), finish()],
    "careful": [bash("sudo reboot", "HIGH"), finish()],
    "asking": [bash("touch made", "HIGH"), finish()],
    "slow": [bash("sleep 300"), finish()],
}


def model(sandbox: Sandbox, name: str) -> str:
    """Return the name of an offline model that plays the turns with this name."""
    script = Path(sandbox.script(*TURNS[name]).removeprefix("scripted/"))
    return f"scripted/{script.rename(script.with_name(f'{name}.toml'))}"


def write_calc(sandbox: Sandbox) -> None:
    """Write a module that subtracts instead of adding, without committing it."""
    (sandbox.project / "calc.py").write_text(CALC)


def write_race(
    locations: Locations, workspace: Path, outcomes: Sequence[AttemptOutcome], patches: Mapping[str, bytes]
) -> Race:
    """Write a finished race in a workspace, whose attempts end like this; the patches are by model."""
    task = TaskSpec(TASK, "Make add add.", workspace=str(workspace), check=CHECK)
    race = Race.create(locations, task, RunOptions(tuple(dict.fromkeys(each.model for each in outcomes))))
    with closing(race), closing(Results(race.run.results)) as results:
        for outcome in outcomes:
            directory = race.run.of_attempt(TaskAttempt(task, outcome.model, outcome.attempt).key)
            directory.mkdir()
            (directory / "check.log").write_text(f"$ {CHECK}\n{outcome.model} was checked\n")
            if patch := patches.get(outcome.model):
                (directory / "changes.patch").write_bytes(patch)
                name = f"attempts/{directory.name}/changes.patch"
                outcome = msgspec.structs.replace(outcome, patch=name, patch_lines=_lines(patch))
            results.add(outcome)
        race.finish()
    return race


def _lines(patch: bytes) -> int:
    return sum(line[:1] in (b"+", b"-") and line[:4] not in (b"+++ ", b"--- ") for line in patch.split(b"\n"))


def patch_of(workspace: Path, work: str) -> bytes:
    """Return what a shell command would change in a workspace without a repository, as an attempt's patch has it."""
    commands = (
        f'cp -r "$1" "$2" && cd "$2" && git init -q && git add -A && tree=$(git write-tree) && {{ {work}\n}}'
        ' && git add -A && git diff-index --cached --patch --binary --full-index $tree; rm -rf "$2"'
    )
    copy = workspace.with_name("patched")
    done = subprocess.run(["sh", "-c", commands, "sh", str(workspace), str(copy)], capture_output=True, check=True)
    return done.stdout
