"""A file system that is really mounted read-only, in a mount namespace of the test, during a run or from its start."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.model_turns import Called, Turn
from tests.fakes.model_turns import bash as bash_turn
from tests.fakes.model_turns import finish as finish_turn
from tests.sandbox import Sandbox

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "private")
FREEZE = "echo go > {0}/freeze && read answer < {0}/frozen"
"""The agent's command: it asks the namespace to make the mount read-only, and waits until it is."""


def run(sandbox: Sandbox, mounted: Path, *turns: Turn, at_once: bool = False) -> subprocess.CompletedProcess[str]:
    """Run `ohw run` with a file system of its own at `mounted`, read-only at once or when the agent says so."""
    pipes = sandbox.home.parent / "pipes"
    pipes.mkdir()
    mounted.mkdir(parents=True, exist_ok=True)
    with ModelServer(list(turns)) as server:
        command = [sys.executable, "-m", "workbench", "run", "go", "--model", "openai/x", "--api-base", server.base_url]
        # A mount with files open for writing cannot be made read-only. A snapshot has them open for a moment only; if
        # they stay open, another mount of the same files covers it, which leaves open files writable.
        cover = f"mount --bind {mounted} {mounted} && mount -o remount,bind,ro {mounted}"
        remount = f"mount -o remount,ro {mounted} 2> {pipes}/busy"
        freeze = f"(for _ in 1 2 3 4 5 6 7 8 9; do {remount} && exit; sleep 0.1; done; {remount} || ({cover}))"
        waiting = f"(read line < {pipes}/freeze; {freeze}; echo done > {pipes}/frozen) &"
        script = f"""
            set -e
            cp -a {mounted} {pipes}/content
            mount -t tmpfs -o size=50m tmpfs {mounted}
            cp -a {pipes}/content/. {mounted}
            mkfifo {pipes}/freeze {pipes}/frozen
            {freeze if at_once else waiting}
            cd {sandbox.project}
            exec {shlex.join([*command, "--mode", "never"])}
        """
        return subprocess.run(
            [*NAMESPACE, "sh", "-c", script], capture_output=True, text=True, env=sandbox.env, timeout=90
        )


def freezes(sandbox: Sandbox) -> Turn:
    script = sandbox.home / "freeze.sh"
    script.write_text(FREEZE.format(sandbox.home.parent / "pipes"))
    return bash_turn(f"touch before; sh {script}", risk="HIGH")


def created(path: Path) -> Turn:
    arguments = {"command": "create", "path": str(path), "file_text": "x", "security_risk": "LOW", "summary": "New"}
    return Turn("", calls=(Called("str_replace_editor", arguments),))


DIRECTORIES = {
    "project": lambda sandbox: sandbox.project,
    "sessions": lambda sandbox: sandbox.locations.sessions,
    "data": lambda sandbox: sandbox.locations.data,
    "state": lambda sandbox: sandbox.locations.state,
    "runtime": lambda sandbox: sandbox.locations.runtime,
    "home": lambda sandbox: sandbox.home,
}


def turns(sandbox: Sandbox, first: Turn) -> list[Turn]:
    return [first, bash_turn("touch after", risk="HIGH"), created(sandbox.project / "edited"), finish_turn("Done.")]


def check_stderr(done: subprocess.CompletedProcess[str]) -> None:
    assert "Traceback" not in done.stderr
    assert "refused more memory" not in done.stderr
    assert "OSError" not in done.stderr


@pytest.mark.parametrize("which", ["sessions", "data", "home"])
def test_run_ends_when_the_disk_of_its_session_turns_read_only(sandbox: Sandbox, which: str):
    done = run(sandbox, DIRECTORIES[which](sandbox), *turns(sandbox, freezes(sandbox)))
    check_stderr(done)
    assert (done.returncode, done.stdout) == (1, "")
    assert "not saved: the disk has become read-only; make it writable again" in done.stderr
    assert {path.name for path in sandbox.project.iterdir()} == {"before"}


@pytest.mark.parametrize("which", ["project", "state", "runtime"])
def test_run_goes_on_when_a_directory_turns_read_only(sandbox: Sandbox, which: str):
    mounted = DIRECTORIES[which](sandbox)
    done = run(sandbox, mounted, *turns(sandbox, freezes(sandbox)))
    check_stderr(done)
    assert (done.returncode, done.stdout) == (0, "Done.\n")
    if which == "project":
        assert "touch: cannot touch 'after': Read-only file system" in done.stderr
        assert f"{sandbox.project}/edited could not be used: Read-only file system. Nothing was changed." in done.stderr
    else:
        assert {"before", "after"} <= {path.name for path in sandbox.project.iterdir()}
    assert (sandbox.project / "edited").exists() == (which != "project")


@pytest.mark.parametrize("which", ["project", "sessions", "data", "home"])
def test_run_does_not_begin_in_a_read_only_directory(sandbox: Sandbox, which: str):
    mounted = DIRECTORIES[which](sandbox)
    done = run(sandbox, mounted, *turns(sandbox, bash_turn("touch before", risk="HIGH")), at_once=True)
    check_stderr(done)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert str(sandbox.project if which == "project" else sandbox.locations.sessions) in done.stderr
    assert "Read-only file system" in done.stderr
    assert list(sandbox.project.iterdir()) == []


@pytest.mark.parametrize("which", ["state", "runtime"])
def test_run_needs_no_directory_that_holds_only_copies(sandbox: Sandbox, which: str):
    mounted = DIRECTORIES[which](sandbox)
    done = run(sandbox, mounted, *turns(sandbox, bash_turn("touch before", risk="HIGH")), at_once=True)
    check_stderr(done)
    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert {path.name for path in sandbox.project.iterdir()} == {"before", "after", "edited"}
