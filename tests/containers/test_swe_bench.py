"""A row of SWE-bench with an image: the agent works in the image's code, and its prediction applies there."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.batch.runs import outcomes, run_batch, write_tasks
from tests.containers.images import BASH, BUSYBOX
from tests.sandbox import Sandbox as User
from tests.sandbox import bash, finish

NAME = "localhost/sweb.eval.x86_64.calc_1776_calc-1"


def git(directory: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.invalid")
    subprocess.run(["git", *who, *words], cwd=directory, check=True, capture_output=True)


@pytest.fixture(scope="module")
def testbed(podman: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the code of an image that has it in /testbed, as those of SWE-bench have."""
    tree = tmp_path_factory.mktemp("image")
    tree.chmod(0o755)  # it becomes the root directory, also for users other than root
    for each in ("bin", "etc", "root", "tmp", "testbed"):
        (tree / each).mkdir()
    (tree / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    shutil.copy(BASH, tree / "bin/bash")
    shutil.copy(BUSYBOX, tree / "bin/busybox")
    for applet in ("cat", "sed", "sh", "ls"):
        (tree / "bin" / applet).symlink_to("busybox")
    (tree / "testbed/add.sh").write_text("echo $(($1 - $2))\n")
    git(tree / "testbed", "init", "--quiet")
    git(tree / "testbed", "add", "--all")
    git(tree / "testbed", "commit", "--quiet", "-m", "SWE-bench")
    archive = tree.parent / "image.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(tree, ".")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in podman.items():
            patch.setenv(name, value)
        subprocess.run(["podman", "import", str(archive), NAME], check=True, capture_output=True)
        yield tree / "testbed"
        subprocess.run(["podman", "rmi", "-f", NAME], capture_output=True)


def test_setup_and_check_run_in_the_image(user: User, testbed: Path):
    fields = {"prompt": "Go.", "image": NAME, "image_path": "/testbed", "mode": "high"}
    setup = 'test -e /usr && exit 9; echo "$OHW_TASK" > /etc/installed; echo set > set.txt; pwd'
    check = "test -e /usr && exit 9; cat /etc/installed set.txt seen; test -e add.sh"
    tasks = write_tasks(
        user,
        {"id": "good", **fields, "setup": setup, "check": check},
        {"id": "bad", **fields, "setup": "echo no; exit 3"},
        {"id": "slow", **fields, "setup": "while :; do :; done", "minutes": 0.03},
    )
    model = user.script(bash("cat /etc/installed > seen"), finish())
    done = run_batch(user, tasks, "-o", "run", "--model", model)
    assert done.returncode == 1, done.stdout + done.stderr
    after = outcomes(user)
    assert (after["good"].state, after["bad"].state, after["slow"].state) == ("solved", "setup", "setup")
    assert after["bad"].detail == "exit code 3"
    assert "timeout" in after["slow"].detail
    good = next((user.project / "run").glob("attempts/good-*"))
    assert (good / "check.log").read_text() == f"$ {check}\ngood\nset\ngood\n"
    assert (good / "setup.log").read_text() == f"$ {setup}\n/testbed\n"
    assert "seen" in (good / "changes.patch").read_text()
    assert "set.txt" not in (good / "changes.patch").read_text()
    assert not subprocess.run(["podman", "ps", "-aq"], capture_output=True, text=True).stdout


def test_a_row_is_solved_in_its_image(user: User, testbed: Path):
    columns = {"instance_id": "calc__calc-1", "repo": "calc/calc", "base_commit": "a" * 40, "image_name": NAME}
    tasks = write_tasks(user, {**columns, "problem_statement": "3 1 is 2", "patch": "+the solution"})
    model = user.script(bash("sed -i 's/ - / + /' /testbed/add.sh && sh add.sh 3 1 > result"), finish())
    done = run_batch(user, tasks, "-o", "run", "--models", model, "--mode", "high")
    assert done.returncode == 0, done.stdout + done.stderr
    assert user.command("batch", "predictions", "run").returncode == 0
    prediction = json.loads((user.project / "run/predictions.jsonl").read_text())
    (user.home / "one.patch").write_text(prediction["model_patch"])
    git(testbed, "apply", str(user.home / "one.patch"))
    assert (testbed / "add.sh").read_text() == "echo $(($1 + $2))\n"
    assert (testbed / "result").read_text() == "4\n", "the commands ran in the image"


def test_an_image_of_a_task_keeps_the_other_entries_of_the_users_table(user: User, testbed: Path):
    """The image replaces what the container is made from; mounts, variables, network and user stay as they are set."""
    data = user.home / "data"
    data.mkdir()
    (data / "rates").write_text("19\n")
    table = f'[container]\nimage = "of/others"\nmounts = ["{data}:/data:ro"]\nenv = {{ TAX = "7" }}\nnetwork = "none"\n'
    user.locations.settings_file.parent.mkdir(parents=True)
    user.locations.settings_file.write_text(table)
    check = "cat /data/rates result; test -e add.sh; ! echo 1 > /data/rates"
    fields = {"prompt": "Go.", "image": NAME, "image_path": "/testbed", "mode": "high"}
    tasks = write_tasks(user, {"id": "one", **fields, "check": check})
    done = run_batch(user, tasks, "-o", "run", "--model", user.script(bash('echo "$TAX" > result'), finish()))
    assert done.returncode == 0, done.stdout + done.stderr
    (attempt,) = (user.project / "run").glob("attempts/one-*")
    assert "19\n7\n" in (attempt / "check.log").read_text()


def test_an_image_is_copied_by_the_program_of_the_users_table(user: User, testbed: Path):
    user.locations.settings_file.parent.mkdir(parents=True)
    user.locations.settings_file.write_text('[container]\nruntime = "docker"\n')
    docker = user.home / "bin/docker"
    docker.parent.mkdir()
    docker.write_text("#!/bin/sh\necho no such image >&2\nexit 1\n")
    docker.chmod(0o755)
    user.env["PATH"] = f"{docker.parent}:{user.env['PATH']}"
    tasks = write_tasks(user, {"id": "one", "prompt": "Go.", "image": NAME, "image_path": "/testbed", "mode": "high"})
    done = run_batch(user, tasks, "-o", "run", "--model", user.script(finish()))
    assert done.returncode == 1, done.stdout + done.stderr
    assert outcomes(user)["one"].state == "workspace", "podman has the image"
