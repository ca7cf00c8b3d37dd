"""Runs in a directory that cannot be written, as on a read-only file system: they are read all the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.batch.outcomes import SMALL, solved, write_run
from tests.batch.runs import FINISH, QUICK, WRITE, outcomes, run_batch, task, write_tasks
from tests.batch.watched import tasks
from tests.sandbox import Sandbox
from tests.system_packages import found_or_installed
from tests.terminal.terminal import Terminal
from workbench.batch.results import Results


def read_only(directory: Path) -> list[str]:
    """Return the words before a command for which a directory is on a read-only file system."""
    bwrap = found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")
    return [bwrap, "--dev-bind", "/", "/", "--ro-bind", str(directory), str(directory), "--die-with-parent", "--"]


def ohw(sandbox: Sandbox, directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [*read_only(directory), sys.executable, "-m", "workbench", *words]
    env = {**sandbox.env, **QUICK}
    return subprocess.run(command, cwd=sandbox.project, env=env, capture_output=True, text=True, timeout=100)


@pytest.fixture(params=["ended", "killed", "killed, without the index of its log"])
def run(request: pytest.FixtureRequest, sandbox: Sandbox) -> Path:
    """A run with two outcomes, one of which is only in the log of the database if its client was killed."""
    path = write_run(sandbox.project / "original", tasks(2), [solved("shop-01", SMALL)], [SMALL])
    with closing(Results(path / "results.sqlite")) as results:
        results.add(solved("shop-02", SMALL))
        if "killed" in request.param:
            omitted = shutil.ignore_patterns("*-shm") if "without" in request.param else None
            return Path(shutil.copytree(path, sandbox.project / "run", ignore=omitted))
    return path.rename(sandbox.project / "run")


def test_report_and_comparison(sandbox: Sandbox, run: Path):
    before = sorted(path.name for path in run.iterdir())
    done = ohw(sandbox, run, "batch", "report", "run", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert '"solved"' in done.stdout
    assert "2 of 2" in ohw(sandbox, run, "batch", "report", "run").stdout
    assert ohw(sandbox, run, "batch", "diff", "run", "run").returncode == 0
    done = ohw(sandbox, run, "batch", "predictions", "run")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert "-o FILE" in done.stderr
    assert sorted(path.name for path in run.iterdir()) == before


def test_run_cannot_be_resumed_and_says_why(sandbox: Sandbox, run: Path):
    done = ohw(sandbox, run, "batch", "--resume", "-o", "run", "--model", "scripted/demo")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "cannot be written" in done.stderr


def test_attempts_are_watched_and_their_sessions_opened_and_exported(sandbox: Sandbox):
    run_batch(sandbox, write_tasks(sandbox, task(1)), "-o", "run", "--model", sandbox.script(WRITE, FINISH))
    run, (outcome,) = sandbox.project / "run", outcomes(sandbox).values()
    done = ohw(sandbox, run, "export", f"run/sessions/{outcome.session}.session")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Make the file." in done.stdout
    (bwrap, *words), env = read_only(run), {**sandbox.env, **QUICK}
    program = [*words, sys.executable, "-m", "workbench"]
    watch = ["batch", "watch", "run"]
    with Terminal(watch, 110, 32, env, cwd=sandbox.project, program=program, python=bwrap) as terminal:
        terminal.wait_for("1 of 1")
        terminal.press("enter")
        terminal.wait_for("t Timeline")
        terminal.press("t")
        terminal.wait_for("Ctrl+Q returns to the run")
        terminal.press("ctrl+q")
        terminal.wait_for("t Timeline")
        terminal.press("q", "q")
        assert terminal.wait_exit() == 0
