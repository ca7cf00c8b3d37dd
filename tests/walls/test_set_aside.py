"""Protected files that a command in the sandbox makes, or links to them that it replaces: all are moved aside.

Each file is looked for from outside, after the command or the session's action has ended.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox import Sandbox, bash, finish, wait_for
from tests.system_packages import found_or_installed

pytestmark = [
    pytest.mark.confined,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is bubblewrap's, which runs on Linux"),
]

HOSTILE = """
echo evil > .envrc
mkdir -p .vscode/deep && echo evil > .vscode/tasks.json && mkfifo .vscode/pipe && echo evil > .vscode/deep/file
chmod 000 .vscode/tasks.json .vscode/deep
mkdir -p .git/objects/info && echo evil > .git/objects/info/alternates
echo evil > .git/config.worktree
rm .claude && mkdir .claude && echo evil > .claude/settings.json
mkdir -p fresh/.husky && echo evil > fresh/.husky/pre-commit && echo fine > fresh/file
"""
MADE = (".envrc", ".vscode", ".git/objects/info/alternates", ".git/config.worktree", "fresh/.husky")
GIT = ("git", "-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always")


@pytest.fixture(autouse=True)
def bubblewrap() -> None:
    found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")


@pytest.fixture
def project(sandbox: Sandbox) -> Sandbox:
    """A repository with a script that makes protected files and replaces a link to some."""
    subprocess.run([*GIT, "init", "-q", "."], cwd=sandbox.project, check=True)
    (sandbox.project / "agent-files").mkdir()
    (sandbox.project / "agent-files/settings.json").write_text("mine")
    (sandbox.project / ".claude").symlink_to("agent-files")
    (sandbox.project / "hostile.sh").write_text(HOSTILE)
    return sandbox


def run_inside(project: Sandbox, script: str) -> subprocess.CompletedProcess[str]:
    return project.ohw("sandbox", "run", "--", "sh", "-c", script)


def assert_nothing_is_left(project: Sandbox) -> None:
    assert [name for name in MADE if os.path.lexists(project.project / name)] == []
    assert (project.project / ".claude").readlink() == Path("agent-files")
    assert (project.project / ".claude/settings.json").read_text() == "mine"
    assert (project.project / "fresh/file").read_text() == "fine\n"


def saved_in(directory: Path) -> dict[str, str]:
    """Return the files below a directory, by their paths without the time at the beginning."""
    paths = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path.relative_to(directory)).partition("-")[2]: path.read_text().strip() for path in paths}


def test_what_a_command_made_is_moved_aside_and_one_line_says_where(project: Sandbox):
    done = run_inside(project, ". ./hostile.sh; exit 3")
    directory = project.locations.data / "put-back"
    assert done.returncode == 3
    assert_nothing_is_left(project)
    [line] = done.stderr.splitlines()
    assert line.startswith(f"ohw: protected files that the command made or replaced were moved aside to {directory}: ")
    assert saved_in(directory) == dict.fromkeys(
        (
            *(".envrc", "alternates", "config.worktree", ".claude/settings.json", ".husky/pre-commit"),
            *(".vscode/tasks.json", ".vscode/deep/file"),
        ),
        "evil",
    )
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_what_was_moved_aside_cannot_be_reached_from_inside(project: Sandbox):
    run_inside(project, "echo evil > .envrc")
    directory = project.locations.data / "put-back"
    done = run_inside(project, f"ls -A {directory}; echo more > {directory}/more")
    assert done.stdout == ""
    assert [path.name.partition("-")[2] for path in directory.iterdir()] == [".envrc"]


def test_a_command_that_makes_no_protected_file_prints_nothing(project: Sandbox):
    commit = f"{' '.join(GIT)} commit -qm x"
    done = run_inside(project, f"mkdir made; echo x > made/file; git add made; {commit}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_command_leaves_nothing_either(project: Sandbox, number: signal.Signals):
    script = ". ./hostile.sh; touch ready; sleep 60"
    process = project.start("sandbox", "run", "--", "sh", "-c", script, start_new_session=True)
    wait_for((project.project / "ready").exists, "the files", 60)
    if number == signal.SIGINT:  # as ctrl+c does
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "moved aside" in errors
    assert_nothing_is_left(project)


def test_new_repositories_go_on_working(project: Sandbox):
    source = project.home / "source"
    subprocess.run([*GIT, "init", "-q", str(source)], check=True)
    (source / ".vscode").mkdir()
    (source / ".vscode/tasks.json").write_text("theirs")
    subprocess.run([*GIT, "add", "."], cwd=source, check=True)
    subprocess.run([*GIT, "commit", "-qm", "first"], cwd=source, check=True)
    done = run_inside(
        project,
        f"git init -q new && git -C new config user.email me@example.org && git clone -q {source} copy"
        " && echo evil > copy/.git/hooks/post-checkout && echo evil > new/.git/hooks/pre-commit",
    )
    assert done.returncode == 0, done.stderr
    hooks = [*(project.project / "copy/.git/hooks").iterdir(), *(project.project / "new/.git/hooks").iterdir()]
    assert [path for path in hooks if path.suffix != ".sample"] == []
    assert "me@example.org" in (project.project / "new/.git/config").read_text()
    status = subprocess.run(["git", "status", "-s"], cwd=project.project / "copy", capture_output=True, check=True)
    assert status.stdout == b""
    assert f"not moved aside: {project.project}/copy/.vscode/tasks.json" in done.stderr


def test_settings_of_a_new_repository_that_run_programs_are_moved_aside(project: Sandbox):
    done = run_inside(project, "git init -q new && git -C new config core.fsmonitor ./evil")
    assert "moved aside" in done.stderr
    assert not (project.project / "new/.git/config").exists()
    assert (project.project / "new/.git/HEAD").exists()


def test_a_directory_that_was_there_is_no_new_repository(project: Sandbox):
    (project.project / "source").mkdir()
    run_inside(project, "git init -q source; echo evil > source/.envrc")
    assert not (project.project / "source/.envrc").exists()
    assert (project.project / "source/.git/HEAD").exists()


def test_an_action_of_a_session_leaves_nothing_and_its_result_says_so(project: Sandbox):
    model = project.script(bash("sh hostile.sh"), bash("echo the next one"), finish())
    done = project.ohw("run", "go", "--json", "--model", model, "--mode", "never", OHW_SANDBOX="auto")
    assert done.returncode == 0, done.stderr
    assert_nothing_is_left(project)
    assert ".envrc (new)" in done.stdout
    assert "which no question showed, and moved aside" in done.stdout
    assert "the next one" in done.stdout
    [directory] = project.locations.data.glob("state/*/put-back")
    assert saved_in(directory)[".vscode/deep/file"] == "evil"


@pytest.mark.parametrize(
    "first",
    [
        {"command": ". ./hostile.sh; sleep 60", "timeout": 2},
        {"command": "(sleep 1; sh hostile.sh; touch ready) > /dev/null 2>&1 &"},
    ],
    ids=["a command that runs on", "a process in the background"],
)
def test_what_goes_on_is_looked_at_after_the_next_action(project: Sandbox, first: dict[str, object]):
    ends = {"command": "C-c", "is_input": True}
    later = ends if "timeout" in first else {"command": "until test -e ready; do sleep 0.1; done"}
    turns = [{"tool": "execute_bash", "risk": "LOW", "arguments": each} for each in (first, later)]
    model = project.script(*turns, finish())
    done = project.ohw("run", "go", "--model", model, "--mode", "never", OHW_SANDBOX="auto")
    assert "moved aside" in done.stdout + done.stderr
    assert_nothing_is_left(project)
