"""Rows of SWE-bench are tasks of `ohw batch`, and a run becomes predictions that SWE-bench evaluates."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.batch.runs import run_batch, write_tasks
from tests.sandbox import Sandbox, bash, finish
from workbench.batch.task import TaskSpec
from workbench.batch.task_files import read_tasks
from workbench.errors import UsageError

SECRET_COLUMNS = {
    "patch": "+the solution",
    "test_patch": "+the hidden test",
    "hints_text": "the hint",
    "FAIL_TO_PASS": '["test_calc.py::test_sum"]',
    "PASS_TO_PASS": "[]",
    "created_at": "2023-03-01T00:00:00Z",
    "version": "4.3",
    "environment_setup_commit": "e" * 40,
    "difficulty": "<15 min fix",
    "eval_script": "pytest the-hidden-command",
    "log_parser": "pytest",
    "eval_type": "pass_and_fail",
    "image_assets": None,
}
"""The columns of the published data sets that are for the evaluation."""
WRONG, RIGHT = "def sum(a, b):\n    return a - b\n", "def sum(a, b):\n    return a + b\n"


def row(**columns: Any) -> dict[str, Any]:
    """Return a row with the columns of SWE-bench_Verified."""
    own = {"instance_id": "calc__calc-1", "repo": "calc/calc", "base_commit": "a" * 40}
    return {**own, "problem_statement": "sum(2, 1) is 1, {patch}", **SECRET_COLUMNS, **columns}


def read(tmp_path: Path, *rows: dict[str, Any], template: str = "") -> list[TaskSpec]:
    path = tmp_path / "verified.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return read_tasks(str(path), template=template)


def git(directory: Path, *words: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.invalid")
    return subprocess.run(["git", *who, *words], cwd=directory, check=True, capture_output=True, text=True).stdout


def commit(repository: Path, subject: str, **files: str) -> str:
    for name, content in files.items():
        (repository / name).write_text(content)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "-m", subject)
    return git(repository, "rev-parse", "HEAD").strip()


@pytest.fixture
def repository(sandbox: Sandbox) -> Path:
    """A repository whose second commit has a bug, tagged v1, and whose third one, tagged v2, fixes it."""
    directory = sandbox.home / "calc"
    directory.mkdir()
    git(directory, "init", "--quiet", "-b", "main")
    commit(directory, "start", README="calc\n")
    commit(directory, "add sum", calc=WRONG, data="\0\1")
    git(directory, "tag", "v1")
    commit(directory, "the fix", calc=RIGHT)
    git(directory, "tag", "-a", "-m", "two", "v2")
    return directory


def fix(*commands: str) -> list[dict[str, Any]]:
    return [*(bash(each) for each in commands), bash("sed -i 's/a - b/a + b/' calc"), finish()]


def run_row(sandbox: Sandbox, repository: Path, *turns: dict[str, Any], **columns: Any) -> None:
    """Run a scripted model on the bug of the repository, to the end."""
    base = git(repository, "rev-parse", "v1").strip()
    tasks = write_tasks(sandbox, row(repo=str(repository), **{"base_commit": base, **columns}))
    done = run_batch(sandbox, tasks, "-o", "run", "--models", sandbox.script(*turns), "--mode", "high")
    assert done.returncode == 0, done.stdout + done.stderr


def predictions(sandbox: Sandbox, name: str = "run/predictions.jsonl") -> list[dict[str, str]]:
    return [json.loads(line) for line in (sandbox.project / name).read_text().splitlines()]


def test_a_row_is_a_clone_of_its_repository_at_its_commit_and_its_issue(tmp_path: Path):
    (task,) = read(tmp_path, row())
    assert (task.id, task.workspace, task.revision) == ("calc__calc-1", "https://github.com/calc/calc", "a" * 40)
    assert (task.image, task.check, task.fields) == ("", "", {})
    assert "\nsum(2, 1) is 1, {patch}\n" in task.prompt


def test_nothing_of_a_row_but_the_issue_reaches_a_task(tmp_path: Path):
    encoded = repr(read(tmp_path, row(), row(instance_id="calc__calc-2", image="registry/calc")))
    values = [each for each in SECRET_COLUMNS.values() if each not in (None, "[]", "4.3", "pytest")]
    assert [each for each in values if each in encoded] == []


@pytest.mark.parametrize("column", ["image", "image_name", "docker_image"])
def test_a_row_with_an_image_works_in_the_images_testbed(tmp_path: Path, column: str):
    name = "docker.io/swebench/sweb.eval.x86_64.calc_1776_calc-1:latest"
    (task,) = read(tmp_path, row(**{"image_name": None, column: name}))
    assert (task.image, task.image_path, task.workspace, task.revision) == (name, "/testbed", "", "")


@pytest.mark.parametrize("url", ["https://example.org/calc.git", "git@example.org:calc/calc", "file:///srv/calc"])
def test_a_repository_may_be_a_url(tmp_path: Path, url: str):
    assert read(tmp_path, row(repo=url))[0].workspace == url


def test_a_repository_may_be_a_path_relative_to_the_file(tmp_path: Path):
    (tmp_path / "calc").mkdir()
    assert [each.workspace for each in read(tmp_path, row(repo="./calc"))] == [str(tmp_path / "calc")]


def test_the_prompt_may_be_a_template_of_the_user(tmp_path: Path):
    (task,) = read(tmp_path, row(), template="In {repo}: {problem_statement}")
    assert task.prompt == "In calc/calc: sum(2, 1) is 1, {patch}"


@pytest.mark.parametrize("template", ["Fix it.", "{problem_statement} {patch}", "{problem_statement} {hints_text}"])
def test_a_template_has_the_issue_and_nothing_of_the_evaluation(tmp_path: Path, template: str):
    with pytest.raises(UsageError, match="line 1, fields: the prompt has"):
        read(tmp_path, row(), template=template)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"problem_statement": None}, "line 1, problem_statement: there is none"),
        ({"repo": 3}, "line 1, repo: there is none, or it is not text"),
        ({"base_commit": "-x"}, "'-x' is no git revision"),
        ({"image_name": ["a"]}, "line 1, image: expected str"),
        ({"instance_id": "../x"}, "line 1, id: '../x' must be"),
        ({"repo": "./absent"}, "line 1, workspace: there is no"),
    ],
)
def test_a_row_that_cannot_be_a_task_is_named(tmp_path: Path, columns: dict[str, Any], says: str):
    with pytest.raises(UsageError, match="nothing was started") as refused:
        read(tmp_path, row(**columns))
    assert says in str(refused.value)


def test_a_fix_becomes_a_prediction_that_applies_to_the_base_commit(sandbox: Sandbox, repository: Path):
    run_row(sandbox, repository, *fix(r"printf '\0\2' > data; printf '\0' > new; printf 'a\r\n' > lines"))
    done = sandbox.command("batch", "predictions", "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "run/predictions.jsonl has 1 prediction of scripted/" in done.stdout
    (prediction,) = predictions(sandbox)
    assert sorted(prediction) == ["instance_id", "model_name_or_path", "model_patch"]
    assert prediction["instance_id"] == "calc__calc-1"
    checkout = sandbox.home / "checkout"
    git(sandbox.home, "clone", "--quiet", "--branch", "v1", str(repository), str(checkout))
    (sandbox.home / "one.patch").write_text(prediction["model_patch"], newline="")
    git(checkout, "apply", "--verbose", str(sandbox.home / "one.patch"))
    contents = {each.name: each.read_bytes() for each in checkout.iterdir() if each.is_file()}
    assert contents == {
        **{"calc": RIGHT.encode(), "README": b"calc\n"},
        **{"data": b"\0\2", "new": b"\0", "lines": b"a\r\n"},
    }


@pytest.mark.parametrize("revision", ["{hash}", "{short}", "v2~1", "v1"])
def test_the_agent_sees_the_history_and_nothing_later(sandbox: Sandbox, repository: Path, revision: str):
    whole = git(repository, "rev-parse", "v1").strip()
    later = git(repository, "rev-parse", "main").strip()
    look = f"(git log --all --format=%s; git tag; git remote; cat .git/FETCH_HEAD; git cat-file -t {later}) > seen 2>&1"
    run_row(sandbox, repository, *fix(look), base_commit=revision.format(hash=whole, short=whole[:9]))
    assert sandbox.command("batch", "predictions", "run").returncode == 0
    added = [line[1:] for line in predictions(sandbox)[0]["model_patch"].splitlines() if line.startswith("+")]
    assert added[added.index("add sum") : added.index("v1") + 1] == ["add sum", "start", "v1"]
    assert not {"the fix", "v2", "origin", "commit"} & set(added)


def test_a_commit_that_the_repository_does_not_have_is_the_outcome(sandbox: Sandbox, repository: Path):
    tasks = write_tasks(sandbox, row(repo=str(repository)))
    done = run_batch(sandbox, tasks, "-o", "run", "--models", sandbox.script(finish()))
    assert done.returncode == 1
    assert "cannot be cloned" in done.stdout
    assert sandbox.command("batch", "predictions", "run").returncode == 0
    assert [each["model_patch"] for each in predictions(sandbox)] == [""]
