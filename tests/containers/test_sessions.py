"""Whole sessions whose commands run in a container: `ohw run --container`, and an engine that is killed."""

from __future__ import annotations

import subprocess
import time

import psutil
import pytest

from tests.containers.images import WITH_BASH, WITHOUT_BASH, Engine, in_each_engine
from tests.sandbox import PATIENCE, bash, finish, wait_for
from tests.sandbox import Sandbox as User


def containers(engine: Engine, of: str = "") -> list[str]:
    """Return a line for each container of a session, or only for those whose names contain a text."""
    shape = "{{.Names}} {{.Status}} {{.Labels}}"
    lines = engine("ps", "-a", "--filter", "label=ohw.process", "--format", shape).splitlines()
    return [line for line in lines if of in line]


def run(user: User, *turns: dict[str, object], mode: str = "high") -> subprocess.CompletedProcess[str]:
    arguments = ("--model", user.script(*turns), "--mode", mode, "--container", WITH_BASH)
    return user.ohw("run", "--json", *arguments, "go")


@in_each_engine
def test_a_task_runs_its_commands_in_the_container_and_its_editor_here(user: User, engine: Engine):
    edit = {"command": "create", "path": str(user.project / "made.txt"), "file_text": "by the editor\n"}
    done = run(
        user,
        bash("test -e /usr || echo in the image; echo by the shell > shell.txt"),
        {"tool": "str_replace_editor", "risk": "LOW", "arguments": edit},
        bash("cat made.txt"),
        finish(),
    )
    assert done.returncode == 0, done.stderr
    assert "in the image" in done.stdout
    assert "by the editor" in done.stdout
    assert (user.project / "shell.txt").read_text() == "by the shell\n"
    assert containers(engine) == []


def test_decisions_say_that_what_they_let_through_is_inside_the_container(user: User):
    done = run(user, bash("frobnicate || true", "MEDIUM"), finish(), mode="medium")
    assert done.returncode == 0, done.stderr
    assert "inside the container" in done.stdout


def test_with_an_open_network_nothing_is_let_through_for_the_containers_sake(user: User):
    (user.home / ".config/ohw").mkdir(parents=True)
    (user.home / ".config/ohw/settings.toml").write_text('[container]\nnetwork = "open"\n')
    done = run(user, bash("frobnicate || true", "MEDIUM"), finish(), mode="medium")
    assert done.returncode == 3, "it is asked about"
    assert "inside the container" not in done.stdout


@pytest.mark.parametrize(
    ("image", "says"),
    [(WITHOUT_BASH, "has no bash"), ("127.0.0.1:1/absent", "cannot be started")],
    ids=("without bash", "absent"),
)
def test_a_container_that_cannot_start_ends_the_run_before_any_command(user: User, image: str, says: str):
    model = user.script(bash("touch ran"), finish())
    done = user.ohw("run", "--model", model, "--mode", "never", "--container", image, "go")
    assert done.returncode == 1
    assert says in done.stdout + done.stderr
    assert not (user.project / "ran").exists()


def test_an_image_is_built_only_in_a_directory_that_the_settings_trust(user: User):
    (user.project / "Dockerfile").write_text(f"FROM {WITH_BASH}\nRUN echo built > /built\n")
    settings = user.locations.settings_file
    settings.parent.mkdir(parents=True)
    model = user.script(bash("cat /built"), finish())
    settings.write_text('[container]\ndockerfile = "Dockerfile"\n')
    refused = user.ohw("run", "--json", "--model", model, "--mode", "high", "go")
    assert refused.returncode == 1
    assert "without your trust" in refused.stdout + refused.stderr
    settings.write_text(f'trusted = ["{user.project}"]\n[container]\ndockerfile = "Dockerfile"\n')
    trusted = user.ohw("run", "--json", "--model", model, "--mode", "high", "go")
    assert trusted.returncode == 0, trusted.stdout + trusted.stderr
    assert "built" in trusted.stdout


def test_without_a_program_for_containers_ohw_says_so_and_exits_with_2(user: User):
    done = user.ohw("run", "--model", user.script(finish()), "--container", "x", "go", PATH="/nowhere")
    assert done.returncode == 2
    assert "there is no podman and no docker here" in done.stderr


@in_each_engine
def test_a_killed_engine_leaves_no_container_and_no_command(user: User, engine: Engine):
    model = user.script(bash("echo up > up; setsid sleep 4321 & sleep 4321"), finish())
    process = user.start("run", "--model", model, "--mode", "high", "--container", WITH_BASH, "go")
    wait_for(lambda: (user.project / "up").exists(), "the command")
    own = f"ohw-{process.pid}-"
    assert containers(engine, own)
    process.kill()
    process.communicate()
    wait_for(lambda: not _sleeping(), "the end of the command")
    until = time.monotonic() + PATIENCE
    while containers(engine, own) and time.monotonic() < until:
        time.sleep(0.1)
    assert containers(engine, own) == []


def _sleeping() -> list[int]:
    return [each.pid for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ["sleep", "4321"]]
