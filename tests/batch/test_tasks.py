"""Task files: every problem is named with its line and field before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.batch.runs import run_batch, task, write_tasks
from tests.sandbox import Sandbox
from workbench.batch.attempt import TaskAttempt, planned
from workbench.batch.task import TaskSpec
from workbench.batch.task_files import is_url, read_tasks
from workbench.errors import UsageError

PROMPT = {"prompt": "Do it."}


def read(tmp_path: Path, *rows: object, template: str = "") -> list[TaskSpec]:
    file = tmp_path / "tasks.jsonl"
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return read_tasks(str(file), template=template)


def refusal(tmp_path: Path, *rows: object, template: str = "") -> str:
    with pytest.raises(UsageError) as error:
        read(tmp_path, *rows, template=template)
    return str(error.value)


def test_three_bad_rows_of_a_thousand_are_all_named(tmp_path: Path):
    rows: list[object] = [{"id": f"t{number}", **PROMPT} for number in range(1000)]
    rows[11], rows[499], rows[998] = '{"id": "x"', {"id": "t499", "promt": "x"}, {"id": "t998", "prompt": 7}
    reason = refusal(tmp_path, *rows)
    assert reason.startswith("nothing was started: ")
    assert "has 3 wrong rows" in reason
    assert "line 12: not JSON" in reason
    assert "line 500, promt: there is no such field; did you mean 'prompt'?" in reason
    assert "line 999, prompt: expected str, got int" in reason


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"id": "a b"}, "line 1, id: 'a b' must be"),
        ({"id": "../up"}, "line 1, id: '../up' must be"),
        ({"prompt": " "}, "line 1, prompt: there is none"),
        ({"mode": "yolo"}, "line 1, mode: 'yolo' is none of plan, ask"),
        ({"max_steps": -1}, "line 1, max_steps: it cannot be negative"),
        ({"minutes": "ten"}, "line 1, minutes: expected float, got str"),
        ({"workspace": "nowhere"}, "line 1, workspace: there is no "),
        ({"workspace": ".", "revision": "--upload-pack=x"}, "is no git revision"),
        ({"image_path": "/src"}, "line 1, image_path: it needs an image"),
        ({"revision": "main"}, "line 1, revision: it needs a workspace"),
        ({"prompt": "For {name}.", "fields": {"nam": "x"}}, "the prompt has {name}, for which there is no value"),
        ({"prompt": "For {a}.", "fields": {"a": 1, "b": 2}}, "the prompt has no {b}"),
    ],
)
def test_wrong_value_is_named_with_its_field(tmp_path: Path, fields: dict[str, object], expected: str):
    assert expected in refusal(tmp_path, {"id": "a", **PROMPT, **fields})


@pytest.mark.parametrize("row", ["[]", "1", "null", '"x"'])
def test_row_that_is_no_table_is_named(tmp_path: Path, row: str):
    assert "line 1: not a table of fields" in refusal(tmp_path, row)


def test_same_id_twice_names_both_lines(tmp_path: Path):
    rows = [{"id": name, **PROMPT} for name in ("a", "b", "A")]
    assert "line 3, id: 'A' is also the ID in line 1" in refusal(tmp_path, *rows)


def test_file_without_tasks_starts_nothing(tmp_path: Path):
    assert refusal(tmp_path).startswith("there is no task in ")


def test_prompts_have_their_fields_filled_in(tmp_path: Path):
    template = "Port {name} to {version}; keep {braces}."
    fields = {"name": "a{version}", "version": 3, "braces": "{}"}
    (first,) = read(tmp_path, {"id": "a", "fields": fields}, template=template)
    assert first.prompt == "Port a{version} to 3; keep {}."
    (plain,) = read(tmp_path, {"id": "a", "prompt": "Use {x: 1}."})
    assert plain.prompt == "Use {x: 1}."


def test_tasks_come_from_toml_and_from_a_directory_of_prompts(tmp_path: Path):
    (tmp_path / "tasks.toml").write_text('[[task]]\nid = "a"\nprompt = "One."\ntags = ["x"]\n')
    (first,) = read_tasks(str(tmp_path / "tasks.toml"))
    assert (first.id, first.prompt, list(first.tags)) == ("a", "One.", ["x"])
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    for name, text in {"b.md": "Two.", "a.txt": "One.", "c.png": "x"}.items():
        (prompts / name).write_text(text)
    assert [(each.id, each.prompt) for each in read_tasks(str(prompts))] == [("a", "One."), ("b", "Two.")]


def test_bad_toml_is_one_problem(tmp_path: Path):
    for text in ("[[task]\n", "task = 1\n", 'x = 1\n[[task]]\nid = "a"\n'):
        (tmp_path / "tasks.toml").write_text(text)
        with pytest.raises(UsageError, match="has 1 wrong row: the file"):
            read_tasks(str(tmp_path / "tasks.toml"))


def test_workspaces_are_relative_to_the_task_file(tmp_path: Path):
    (tmp_path / "src").mkdir()
    (first,) = read(tmp_path, {"id": "a", **PROMPT, "workspace": "src"})
    assert first.workspace == str((tmp_path / "src").resolve())


@pytest.mark.parametrize(
    ("workspace", "expected"),
    [
        ("https://host/a.git", True),
        ("git@host:a/b.git", True),
        ("file:///a", True),
        ("src", False),
        ("/a:b/c", False),
        ("a:b", False),
    ],
)
def test_url_is_told_from_a_path(workspace: str, expected: bool):
    assert is_url(workspace) is expected


def test_every_attempt_has_its_own_key_that_is_safe_as_a_name():
    tasks = [TaskSpec("a", "x"), TaskSpec("a-m", "x"), TaskSpec("b", "x", model="own")]
    keys = [each.key for each in planned(tasks, ["m/../n", "m", "openai/é"], 2)]
    assert len(keys) == len(set(keys)) == 14
    assert all(key.isascii() and "/" not in key and len(key) < 120 for key in keys)
    assert TaskAttempt(tasks[0], "m", 1).key == TaskAttempt(tasks[0], "m", 1).key


def test_mode_that_never_asks_needs_a_sandbox(sandbox: Sandbox):
    tasks = write_tasks(sandbox, task(1, mode="never"))
    done = run_batch(sandbox, tasks, "-o", "run", "--model", "scripted/demo")
    assert done.returncode == 2
    assert "the task t1 has the mode never, which needs an image, or a sandbox that is not optional" in done.stderr
    assert not (sandbox.project / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-o", "run"], "which tasks?"),
        (["tasks.jsonl", "-o", "run"], "no model"),
        (["tasks.jsonl", "-o", ".", "--model", "scripted/demo"], "is not empty"),
        (["tasks.jsonl", "-o", "run", "--retry", "failed"], "--retry needs --resume"),
        (["--resume", "-o", "run"], "there is no run in"),
        (["tasks.jsonl", "--resume", "-o", "run"], "give no TASKS"),
        (["tasks.jsonl", "-o", "run", "--rate", "m=fast"], "--rate m=fast: give a model and its calls a minute"),
        (["tasks.jsonl", "-o", "run", "--attempts", "0"], "'0' is not a whole number above 0"),
        (["tasks.jsonl", "-o", "run", "--prompt", "none"], "--prompt 'none' cannot be read"),
    ],
)
def test_wrong_option_starts_nothing(sandbox: Sandbox, arguments: list[str], expected: str):
    write_tasks(sandbox, task(1))
    done = sandbox.command("batch", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert not (sandbox.project / "run").exists()
