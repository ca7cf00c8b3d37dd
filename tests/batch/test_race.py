"""Races: the ranking, the changes of the attempts, and how they are applied to a workspace that may have changed."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.batch.outcomes import outcome, solved, unsolved
from tests.batch.races import CALC, patch_of, write_calc, write_race
from tests.sandbox import Sandbox
from workbench.batch.attempt import AttemptOutcome, TaskAttempt
from workbench.batch.race import (
    TASK,
    Race,
    RankedAttempt,
    attempts_with_each,
    last_race,
    ranked,
    resumable_race,
    running_race,
)
from workbench.batch.results import Results
from workbench.batch.run_directory import RunOptions
from workbench.batch.task import TaskSpec
from workbench.cli.arguments import parse, settings_with_flags
from workbench.cli.batch_run import flags_of
from workbench.config.settings import Settings, load_settings
from workbench.diff.hunks import compare
from workbench.errors import UsageError, WorkbenchError
from workbench.files.root_directory import Root
from workbench.protocol.events import FileDelta
from workbench.session.storage.cleanup import RETENTION_DAYS
from workbench.session.storage.race_leftovers import COPY_DAYS, START, prune_races, races_of
from workbench.session.workspace.repository import SnapshotRepository
from workbench.session.workspace.revert import RevertError, revert
from workbench.view.commands import parse_command
from workbench.view.formatting.race import attempt_lines, summary
from workbench.view.race import attempt_scope, compare_attempts
from workbench.view.race_command import parse_race, race_words
from workbench.view.review.apply_text import CannotApply, applied_file, applied_files, applied_hunk
from workbench.view.review.revert_text import FileRevert
from workbench.view.state import FileState

BINARY = b"\x00\x01\xff\n"


def changed(outcome: AttemptOutcome, lines: int, **more: object) -> AttemptOutcome:
    return replace(outcome, patch="p", patch_lines=lines, **more)


@pytest.mark.parametrize(
    "best_first",
    [
        [changed(solved("t", "a"), 9, cost=2.0), changed(unsolved("t", "b"), 1, cost=0.0)],
        [changed(solved("t", "a"), 2, cost=2.0), changed(solved("t", "b"), 3, cost=0.1)],
        [changed(solved("t", "a"), 2, cost=0.1), changed(solved("t", "b"), 2, cost=0.2)],
        [changed(solved("t", "a"), 2, cost=9.0), changed(solved("t", "b"), 2, cost=0.1, unpriced=1)],
        [changed(solved("t", "b"), 99), solved("t", "a")],
        [changed(outcome("t", "b"), 99), outcome("t", "a")],
        [changed(unsolved("t", "a"), 9), outcome("t", "b", ending="question"), outcome("t", "c", ending="error")],
        [changed(solved("t", "a", 1), 2), changed(solved("t", "a", 2), 2), changed(solved("t", "b", 1), 2)],
    ],
    ids=["check", "lines", "cost", "price", "solved unchanged", "done unchanged", "failures", "ties"],
)
def test_ranking(best_first: list[AttemptOutcome]):
    for order in permutations(best_first):
        assert ranked(order) == best_first


def test_result_is_one_line():
    def line(*outcomes: AttemptOutcome) -> str:
        return summary([RankedAttempt(rank, each) for rank, each in enumerate(ranked(outcomes), 1)])

    assert line(changed(solved("t", "a"), 2), unsolved("t", "b")) == "1 of 2 solved; best: a #1"
    assert line(changed(outcome("t", "a"), 2)) == "1 of 1 done; best: a #1"
    assert line(unsolved("t", "a"), outcome("t", "b", ending="setup")) == "none of 2 attempts solved it"
    assert line() == "no attempt was completed"


def test_single_model_has_three_attempts_unless_requested():
    assert [attempts_with_each(models, n) for models in ("a", "ab") for n in (0, 2)] == [3, 2, 1, 2]


@pytest.mark.parametrize(
    ("argument", "prompt", "options"),
    [
        ("Don't break it", "Don't break it", ()),
        ("--models a,b --check 'pytest -q' Fix \"x\"  now", 'Fix "x"  now', ("--models=a,b", "--check=pytest -q")),
        ("--attempts=2 -- --check is broken", "--check is broken", ("--attempts=2",)),
        ("first\n\nsecond", "first\n\nsecond", ()),
    ],
)
def test_options_come_before_the_prompt(argument: str, prompt: str, options: tuple[str, ...]):
    parsed = parse_race(argument)
    assert (parsed.prompt, parsed.options, parsed.mode) == (prompt, options, "Ask (high only)")


@pytest.mark.parametrize("argument", ["--attempts 2", "--check 'x Fix it", "--check", "--json Fix it", "--model a Fix"])
def test_options_that_cannot_be_used_are_refused(argument: str):
    with pytest.raises(UsageError, match="/race"):
        parse_race(argument)


def test_prompt_of_a_race_may_have_several_lines():
    command, argument = parse_command('/race Fix it.\n\nThen "test" it.') or (None, "")
    assert (command and command.name, argument) == ("race", 'Fix it.\n\nThen "test" it.')
    assert parse_command("/init Fix it.\nThen test it.") is None


def test_race_in_the_app_gets_the_flags_of_the_app_but_for_its_mode():
    settings = Settings(model="m", mode="plan", sandbox="off", from_flags=("model", "mode", "sandbox"))
    words = race_words(parse_race("--attempts 2 Fix it"), settings, "m", "/w")
    assert words[4:] == ["--sandbox=off", "--model=m", "--models=m", "--attempts=2", "--", "Fix it"]


@pytest.mark.parametrize("container", ["docker.io/library/python:3.12", "devcontainer", ""])
def test_each_flag_of_the_app_has_the_same_effect_in_its_race(sandbox: Sandbox, container: str):
    table = '[container]\nimage = "other"\ndevcontainer = "dev/devcontainer.json"\nmemory = "1g"\n'
    sandbox.locations.config.mkdir(parents=True)
    sandbox.locations.settings_file.write_text(table)
    flags = {
        "api_base": "http://localhost:1/v1",
        "tool_choice": "required",
        "sandbox": "off",
        "container": container,
        "max_steps": "7",
        "token_limit": "9000",
        "max_observe": "0",
        "theme": "ohw-light",
    }
    assert {*flags, "model", "mode", "max_cost"} == {each.name for each in settings_with_flags()}
    settings = load_settings(sandbox.locations, {}, **flags)
    _, arguments = parse(race_words(parse_race("Fix it"), settings, "m", "/w"))
    in_race = load_settings(sandbox.locations, {}, **flags_of(arguments))
    assert {name: getattr(in_race, name) for name in flags} == {name: getattr(settings, name) for name in flags}


WORK = (
    "printf 'def add(a, b):\\n    return a + b\\n' > calc.py; printf '\\000\\001\\377\\n' > logo.bin;"
    "echo ls > run.sh; chmod +x run.sh"
)


@pytest.fixture
def race(sandbox: Sandbox) -> str:
    """The name of a race in the project, with a winner that also creates files."""
    write_calc(sandbox)
    outcomes = [unsolved("race", "bad"), solved("race", "good", session="20261130-race-good-1")]
    return write_race(sandbox.locations, sandbox.project, outcomes, {"good": patch_of(sandbox.project, WORK)}).name


def files_of(sandbox: Sandbox, race: str, session: str = "20261130-race-good-1") -> dict[str, FileState]:
    comparison = compare_attempts(sandbox.locations, race)
    scope = attempt_scope(comparison, 0, sandbox.project)
    assert scope is not None
    assert scope.session == session
    return {Path(file.path).name: file for file in scope.files()}


def changed_paths(sandbox: Sandbox, race: str) -> list[str]:
    comparison = compare_attempts(sandbox.locations, race)
    scope = attempt_scope(comparison, 0, sandbox.project)
    assert scope is not None, comparison.attempts[0].files
    return [file.path for file in scope.files()]


def apply_all(sandbox: Sandbox, race: str) -> None:
    changes = applied_files(list(files_of(sandbox, race).values()), lambda file: Path(file.path).name)
    repository = SnapshotRepository(sandbox.locations, sandbox.project, "test")
    revert([change.delta for change in changes], Root.at(sandbox.project), repository)


def test_winner_is_applied_with_its_binary_and_executable_files(sandbox: Sandbox, race: str):
    apply_all(sandbox, race)
    assert "a + b" in (sandbox.project / "calc.py").read_text()
    assert (sandbox.project / "logo.bin").read_bytes() == BINARY
    assert os.access(sandbox.project / "run.sh", os.X_OK)
    assert not (races_of(sandbox.locations) / race / START).exists()


def test_lines_that_changed_meanwhile_are_never_overwritten(sandbox: Sandbox, race: str):
    calc = sandbox.project / "calc.py"
    calc.write_text(CALC.replace("a - b", "b - a"))
    file = files_of(sandbox, race)["calc.py"]
    with pytest.raises(CannotApply, match=r"calc\.py has other lines in the workspace"):
        apply_all(sandbox, race)
    with pytest.raises(CannotApply, match="The workspace has other lines there"):
        applied_hunk(file, compare("calc.py", file.before, file.after), 0)
    assert not (sandbox.project / "run.sh").exists()
    calc.unlink()
    with pytest.raises(CannotApply, match=r"calc\.py was deleted in the workspace"):
        apply_all(sandbox, race)
    calc.write_text(f'"""Sums."""\n\n\n{CALC}')
    apply_all(sandbox, race)
    assert calc.read_text() == f'"""Sums."""\n\n\n{CALC.replace("a - b", "a + b")}'


def test_changes_that_replace_directories_links_and_files_by_one_another_are_compared(sandbox: Sandbox):
    (sandbox.project / "config").mkdir()
    (sandbox.project / "config" / "main.ini").write_text("a = 1\n")
    (sandbox.project / "link").symlink_to("/etc")
    work = "rm -r config; echo a=1 > config; rm link; mkdir link; echo me > link/passwd"
    patches = {"good": patch_of(sandbox.project, work)}
    race = write_race(sandbox.locations, sandbox.project, [solved("race", "good")], patches).name
    names = {str(Path(path).relative_to(sandbox.project)) for path in changed_paths(sandbox, race)}
    assert names == {"config", "config/main.ini", "link", "link/passwd"}


REPLACED = "rm -r config; echo a=1 > config; rm link; mkdir link; echo me > link/passwd; chmod +x calc.py"


@pytest.fixture
def replacing(sandbox: Sandbox) -> str:
    """A race that puts a file in the place of a directory, a directory in that of a link, and changes permissions."""
    write_calc(sandbox)
    (sandbox.project / "config/deep").mkdir(parents=True)
    (sandbox.project / "config/main.ini").write_text("a = 1\n")
    (sandbox.project / "config/deep/other.ini").write_text("b = 2\n")
    (sandbox.project / "link").symlink_to("/etc")
    patches = {"good": patch_of(sandbox.project, REPLACED)}
    return write_race(sandbox.locations, sandbox.project, [solved("race", "good")], patches).name


def state_of(directory: Path) -> dict[str, object]:
    """Return every file of the project: its content or where it leads, and whether it can be run."""
    files = [path for path in directory.rglob("*") if path.is_symlink() or path.is_file()]
    return {
        str(path.relative_to(directory)): str(path.readlink())
        if path.is_symlink()
        else (path.read_text(), os.access(path, os.X_OK))
        for path in files
    }


def applied(sandbox: Sandbox, race: str) -> list[FileRevert]:
    changes = applied_files(list(files_of(sandbox, race, session="").values()), lambda file: Path(file.path).name)
    _write(sandbox, changes)
    return changes


def _write(sandbox: Sandbox, changes: list[FileRevert]) -> None:
    repository = SnapshotRepository(sandbox.locations, sandbox.project, "test")
    revert([change.delta for change in changes], Root.at(sandbox.project), repository)


def test_directories_files_and_links_take_the_place_of_one_another_and_back(sandbox: Sandbox, replacing: str):
    before = state_of(sandbox.project)
    changes = applied(sandbox, replacing)
    assert state_of(sandbox.project) == {
        "calc.py": (CALC, True),
        "config": ("a=1\n", False),
        "link/passwd": ("me\n", False),
    }
    _write(sandbox, [change.undone for change in changes])
    assert state_of(sandbox.project) == before


def test_directory_with_other_files_is_not_replaced(sandbox: Sandbox, replacing: str):
    (sandbox.project / "config/mine.ini").write_text("c = 3\n")
    before = state_of(sandbox.project)
    files = list(files_of(sandbox, replacing, session="").values())
    with pytest.raises(CannotApply, match="config is a directory in the workspace with other files"):
        applied_files(files, lambda file: Path(file.path).name)
    with pytest.raises(CannotApply, match="config is a directory in the workspace; R applies all files"):
        applied_file(next(file for file in files if file.path.endswith("config")), "config")
    deltas = [
        FileDelta(path=each.path, before=each.before, after=each.after, cut=each.note, version=each.version)
        for each in files
    ]
    with pytest.raises(RevertError, match="config could not be read"):
        revert(deltas, Root.at(sandbox.project), SnapshotRepository(sandbox.locations, sandbox.project, "test"))
    assert state_of(sandbox.project) == before


def test_file_that_appears_meanwhile_in_a_directory_to_be_replaced_stays(sandbox: Sandbox, replacing: str):
    changes = applied_files(list(files_of(sandbox, replacing, session="").values()), lambda file: file.path)
    late = sandbox.project / "config/mine.ini"
    late.write_text("c = 3\n")
    with pytest.raises(RevertError):
        _write(sandbox, changes)
    assert late.read_text() == "c = 3\n"


def test_permissions_alone_are_applied_and_rank_as_the_smallest_change(sandbox: Sandbox):
    write_calc(sandbox)
    patches = {"a": patch_of(sandbox.project, "chmod +x calc.py"), "b": patch_of(sandbox.project, WORK)}
    race = write_race(sandbox.locations, sandbox.project, [solved("race", "a"), solved("race", "b")], patches)
    comparison = compare_attempts(sandbox.locations, race.name)
    assert [each.ranked.outcome.model for each in comparison.attempts] == ["a", "b"]
    page = "\n".join(piece.text for line in attempt_lines(comparison, 0, 120) for piece in line)
    assert "a #1 has changed only the permissions of 1 file" in page
    assert " permissions " in sandbox.command("race", "--show", race.name).stdout
    applied(sandbox, race.name)
    assert os.access(sandbox.project / "calc.py", os.X_OK)
    assert (sandbox.project / "calc.py").read_text() == CALC


def test_earlier_race_is_printed_without_a_terminal(sandbox: Sandbox, race: str):
    done = sandbox.command("race", "--show", "--json")
    assert done.returncode == 0
    ranking = json.loads(done.stdout)["ranking"]
    assert [(row["rank"], row["model"]) for row in ranking] == [(1, "good"), (2, "bad")]
    table = sandbox.command("race", "--show", race).stdout
    assert table.index("good #1") < table.index("bad #1")
    assert f"ohw race --show {race}" in table


def test_exit_code_says_that_no_attempt_won(sandbox: Sandbox):
    write_calc(sandbox)
    failures = [unsolved("race", "a"), outcome("race", "b", ending="setup"), outcome("race", "c", ending="question")]
    race = write_race(sandbox.locations, sandbox.project, failures, {})
    assert sandbox.command("race", "--show", race.name).returncode == 1


def test_arguments_that_cannot_be_used_are_refused_before_anything_starts(sandbox: Sandbox):
    never = ["Fix it", "--models", "scripted/x", "--mode", "never", "--sandbox", "off"]
    for words, reason in [
        ([], "which prompt?"),
        (["Fix it"], "model"),
        (["--show"], "there was no race"),
        (["--show", "../x"], "not the name of a race"),
        (["Fix it", "--show"], "give no PROMPT"),
        (["Fix it", "--resume"], "give no PROMPT"),
        (["--resume", "--models", "scripted/x"], "--models is for a new one"),
        (["--resume", "--watch"], "not allowed with"),
        (["--resume"], "no race in"),
        (["--watch"], "no race is running"),
        (["  ", "--models", "scripted/x"], "the prompt is empty"),
        (["-", "--models", "scripted/x", "--until-eof"], "give a PROMPT"),
        (never, "the mode never"),
    ]:
        done = sandbox.command("race", *words)
        assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
    assert not races_of(sandbox.locations).exists()


def test_missing_packages_are_named_in_one_line(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = sandbox.command("race", "Fix it", "--models", "scripted/x")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "which `ohw race` needs; install it with" in done.stderr


def test_copying_the_directory_is_interrupted(sandbox: Sandbox):
    for number in range(5):
        (sandbox.project / f"{number}.txt").write_text("x")
    checks = iter([False, False, False, True])
    task = TaskSpec(TASK, "Fix it", workspace=str(sandbox.project))
    with pytest.raises(WorkbenchError, match=r"interrupted while .* was copied"):
        Race.create(sandbox.locations, task, RunOptions(("m",)), lambda: next(checks))
    assert not list(races_of(sandbox.locations).iterdir())


def test_race_that_ends_by_an_exception_leaves_no_copies_of_its_attempts(sandbox: Sandbox):
    task = TaskSpec(TASK, "Fix it", workspace=str(sandbox.project))
    race = Race.create(sandbox.locations, task, RunOptions(("m",)))
    beside, nonce = sandbox.locations.data.parent / "ohw-batch", race.run.options().nonce
    copies = [beside / nonce, beside / "ohw-workspaces" / f"{nonce}-x"]
    for each in copies:
        each.mkdir(parents=True)
    with pytest.raises(KeyboardInterrupt), closing(race):
        raise KeyboardInterrupt
    assert not any(each.exists() for each in copies)


def test_race_without_an_attempt_that_ended_is_not_the_last_one(sandbox: Sandbox, race: str):
    assert write_race(sandbox.locations, sandbox.project, [], {}).name != race
    assert last_race(sandbox.locations, sandbox.project).name == race
    assert [path.name for path in races_of(sandbox.locations).iterdir()] == [race]


@pytest.fixture
def half(sandbox: Sandbox) -> Race:
    """A race whose process was killed when one of its two attempts had ended."""
    write_calc(sandbox)
    task = TaskSpec(TASK, "Make add add.", workspace=str(sandbox.project))
    race = Race.create(sandbox.locations, task, RunOptions(("a", "b")))
    patch = patch_of(sandbox.project, WORK)
    with closing(Results(race.run.results)) as results:
        directory = race.run.of_attempt(TaskAttempt(task, "a", 1).key)
        directory.mkdir()
        (directory / "changes.patch").write_bytes(patch)
        results.add(solved("race", "a", patch=f"attempts/{directory.name}/changes.patch", patch_lines=4))
        results.add(outcome("race", "b", ending="interrupted"))
    race.run.close()
    return race


def test_race_that_was_killed_can_be_resumed_and_what_ended_be_shown(sandbox: Sandbox, half: Race):
    assert resumable_race(sandbox.locations, sandbox.project).name == half.name
    prune_races(sandbox.locations, RETENTION_DAYS)
    assert [path.name for path in changed_files(sandbox, half)] == ["calc.py", "logo.bin", "run.sh"]
    race = Race.reopen(sandbox.locations, half.name)
    assert [each.names for each in race.open_attempts()] == [("race", "b", 1)]
    with pytest.raises(UsageError, match="is running"):
        Race.reopen(sandbox.locations, half.name)
    with pytest.raises(UsageError, match="that can be resumed"):
        resumable_race(sandbox.locations, sandbox.project)
    assert running_race(sandbox.locations, sandbox.project).name == half.name
    with closing(race), closing(Results(race.run.results)) as results:
        results.add(unsolved("race", "b"))
        race.finish()
    assert not (race.run.path / START).exists()
    with pytest.raises(UsageError, match="all of its attempts ended"):
        Race.reopen(sandbox.locations, half.name)
    assert "+def" not in sandbox.command("race", "--show", half.name).stdout


def test_copy_of_a_race_that_was_not_resumed_is_deleted_after_a_week(sandbox: Sandbox, half: Race):
    week = time.time() - (COPY_DAYS + 1) * 86_400
    os.utime(half.run.path, (week, week))
    prune_races(sandbox.locations, RETENTION_DAYS)
    assert not (half.run.path / START).exists()
    done = sandbox.command("race", "--resume", half.name)
    assert (done.returncode, "its copy of the directory was deleted" in done.stderr) == (2, True)
    assert "a #1" in sandbox.command("race", "--show", half.name).stdout


def test_deleted_race_is_gone(sandbox: Sandbox, half: Race):
    half.delete()
    assert not half.run.path.exists()


def changed_files(sandbox: Sandbox, race: Race) -> list[Path]:
    return sorted(map(Path, changed_paths(sandbox, race.name)))


def test_old_races_and_leftovers_of_killed_ones_are_deleted(sandbox: Sandbox, race: str):
    finished, locations = races_of(sandbox.locations) / race, sandbox.locations
    killed = write_race(locations, sandbox.project, [unsolved("race", "a")], {})
    nonce = killed.run.options().nonce
    beside = locations.data.parent / "ohw-batch"
    leftovers = [killed.run.path / START, beside / nonce, beside / "ohw-workspaces" / f"{nonce}-x"]
    for each in leftovers:
        each.mkdir(parents=True)
    prune_races(locations, RETENTION_DAYS)
    assert not any(each.exists() for each in leftovers)
    assert last_race(locations, sandbox.project).name == killed.name
    leftovers[1].mkdir()
    prune_races(locations, RETENTION_DAYS)
    assert not leftovers[1].exists(), "it was left although the copy that the attempts start from is gone"
    os.utime(finished, (0, 0))
    killed.run.open()
    os.utime(killed.run.path, (0, 0))
    prune_races(locations, RETENTION_DAYS)
    assert not finished.exists()
    assert killed.run.path.exists(), "it runs"
    killed.run.close()
