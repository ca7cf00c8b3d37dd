"""Races of scripted models in the real program: from the command line, and beside a session in the app."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.batch.races import CALC, CHECK, model, write_calc
from tests.batch.runs import QUICK
from tests.sandbox import Sandbox, command_line, wait_for
from tests.terminal.terminal import Terminal
from workbench.session.storage.race_leftovers import START, races_of

pytestmark = pytest.mark.timeout(300)


def terminal(sandbox: Sandbox, *words: str) -> Terminal:
    return Terminal([*words, "--sandbox", "off"], 120, 36, {**sandbox.env, **QUICK}, cwd=sandbox.project)


def apply_winner(screen: Terminal) -> None:
    """Open the diff of the winner's two files and apply both, as a user who has looked at them."""
    screen.press("enter")
    screen.wait_for("R Apply all")
    screen.press("R")
    question = screen.wait_for("y Apply")
    assert "Apply 2 files from …" in question
    assert "good.toml #1?" in question
    assert "made.txt  creates the file" in question
    screen.press("y")
    screen.wait_for("Applied 2 files")


def test_attempt_that_solves_the_task_wins_and_is_applied(sandbox: Sandbox):
    write_calc(sandbox)
    subprocess.run(["git", "init", "-q"], cwd=sandbox.project, check=True)
    models = ",".join(model(sandbox, name) for name in ("wrong", "careful", "good"))
    assert subprocess.run(CHECK, shell=True, cwd=sandbox.project).returncode == 1
    with terminal(sandbox, "race", "Make add add.", "--models", models, "--check", CHECK) as screen:
        page = screen.wait_for("Race · 3 attempts")
        ranking = [line.split() for line in page.splitlines() if "#1 " in line and "changed" not in line]
        assert ["good.toml" in " ".join(row) for row in ranking] == [True, False, False]
        assert "solved" in ranking[0]
        assert {"unsolved"} < {*ranking[1], *ranking[2]}
        screen.press("tab", "tab")
        screen.wait_for("HIGH: execute_bash needs an approval")
        screen.press("tab")
        screen.wait_for("M calc.py")
        assert (sandbox.project / "calc.py").read_text() == CALC
        apply_winner(screen)
        assert subprocess.run(CHECK, shell=True, cwd=sandbox.project).returncode == 0
        screen.press("ctrl+q")
        assert screen.wait_exit() == 0
    wait_for(lambda: not sandbox.processes(), "all processes to end")


def test_race_runs_beside_a_session_and_ends_with_the_app(sandbox: Sandbox):
    write_calc(sandbox)
    good, wrong = model(sandbox, "good"), model(sandbox, "wrong")
    with terminal(sandbox, "--model", good) as screen:
        screen.wait_for("Ask anything")
        screen.type(f'/race --models {wrong},{good} --check "{CHECK}" Don\'t subtract.')
        screen.press("enter")
        screen.wait_for("Race 0 of 2")
        screen.wait_for("The race has ended: 1 of 2 solved")
        screen.type("/race")
        screen.press("enter")
        screen.wait_for("M calc.py")
        apply_winner(screen)
        screen.press("escape", "escape")
        screen.wait_for("Applied 2 files from")
        screen.type(f"/race --models {model(sandbox, 'slow')} --attempts 2 Wait.")
        screen.press("enter")
        wait_for(lambda: _runs(sandbox, "sleep 300"), "the attempts to run")
        screen.type("/race Again.")
        screen.press("enter")
        assert "/race Again." in screen.wait_for("Not started: a race is running (0 of 2")
        screen.process.kill(signal.SIGKILL)
    wait_for(lambda: not (_runs(sandbox, "--until-eof") or _runs(sandbox, "sleep 300")), "the race to end")
    beside = sandbox.locations.data.parent / "ohw-batch"
    assert not [path for path in beside.rglob("*") if path.is_file()], "copies of attempts"
    _replace_turns(sandbox, "slow", "good")
    with terminal(sandbox, "--model", good) as screen:
        screen.wait_for("Ask anything")
        screen.type("/race")
        screen.press("enter")
        assert "0 of 2 attempts ended" in screen.wait_for("y Resume")
        screen.press("y")
        screen.wait_for("The race continues")
        screen.wait_for("The race has ended: 2 of 2 done")
        screen.type("/race")
        screen.press("enter")
        screen.wait_for("Race · 2 attempts")
        screen.press("ctrl+q")
    assert not list(races_of(sandbox.locations).glob(f"*/{START}"))


def test_attempt_of_a_race_is_answered_in_the_app(sandbox: Sandbox):
    write_calc(sandbox)
    with terminal(sandbox, "--model", model(sandbox, "good")) as screen:
        screen.wait_for("Ask anything")
        screen.type(f"/race --models {model(sandbox, 'asking')} --attempts 1 --wait 5 --check 'test -e made' Make it.")
        screen.press("enter")
        screen.wait_for("needs an answer: /race opens it")
        screen.type("/race")
        screen.press("enter")
        screen.wait_for("›race")  # the main screen too says that one is waiting
        screen.press("enter")
        screen.wait_for("a Answer")
        screen.press("a")
        screen.wait_for("y Approve")
        screen.press("y")
        screen.wait_for("The race has ended: 1 of 1 solved")
        screen.press("ctrl+q")
        assert screen.wait_exit() == 0
    wait_for(lambda: not sandbox.processes(), "all processes to end")


def _replace_turns(sandbox: Sandbox, name: str, other: str) -> None:
    """Let the offline model with one name play the turns of another one."""
    file = Path(model(sandbox, name).removeprefix("scripted/"))
    file.write_bytes(Path(model(sandbox, other).removeprefix("scripted/")).read_bytes())


def test_interrupted_race_leaves_no_process_and_what_it_needs_to_be_resumed(sandbox: Sandbox):
    write_calc(sandbox)
    command = [sys.executable, "-m", "workbench", "race", "Wait.", "--models", model(sandbox, "slow")]
    command += ["--attempts", "2", "--sandbox", "off"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=sandbox.project, env={**sandbox.env, **QUICK}, **pipes) as race:
        wait_for(lambda: _runs(sandbox, "sleep 300"), "the attempts to run")
        race.send_signal(signal.SIGINT)
        assert race.stderr is not None
        wait_for(lambda: "no more attempts" in race.stderr.readline(), "the answer to the first")
        race.send_signal(signal.SIGINT)
        output, errors = race.communicate(timeout=60)
    assert race.returncode == 130, errors
    assert output.count("! interrupted") == 2
    assert not sandbox.processes()
    beside = sandbox.locations.data.parent / "ohw-batch"
    assert not [path for path in beside.rglob("*") if path.is_file()]
    name = next(path.parent.name for path in races_of(sandbox.locations).glob(f"*/{START}"))
    assert f"2 attempts left; continue with `ohw race --resume {name}`" in errors
    _replace_turns(sandbox, "slow", "good")
    (sandbox.project / "calc.py").write_text("changed meanwhile\n")
    again = [*command[:4], "--resume", "--json"]
    done = subprocess.run(again, cwd=sandbox.project, env={**sandbox.env, **QUICK}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"state": "done"') == 4  # each as it ended, and in the ranking
    assert not list(races_of(sandbox.locations).glob(f"*/{START}"))


def _runs(sandbox: Sandbox, words: str) -> bool:
    return any(words in " ".join(command_line(each)) for each in sandbox.processes())
