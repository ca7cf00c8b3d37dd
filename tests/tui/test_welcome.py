"""The welcome text: the examples found in a directory, and the effect of choosing one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import Script
from workbench.protocol import live
from workbench.tui.palette_entries import PastSession
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.welcome import Welcome
from workbench.view.app_session import AppSession
from workbench.view.example_tasks import MOST_TASKS, example_tasks

README = "# Shop\n\n## Usage\n\nRun it.\n"
LAST_FAILED = ".pytest_cache/v/cache/lastfailed"


def make(directory: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


@pytest.mark.parametrize(
    ("files", "task"),
    [
        ({"tests/test_a.py": ""}, "Run the tests and fix what fails"),
        (
            {"tests/test_a.py": "", LAST_FAILED: json.dumps({"tests/test_a.py::test_x": True})},
            "Fix the failing test tests/test_a.py::test_x",
        ),
        ({"a.py": "x = 1\n\n# TODO: y\n"}, "Resolve the TODO in line 3 of @a.py"),
        ({"src/a.ts": "// FIXME\n"}, "Resolve the FIXME in line 1 of @src/a.ts"),
        ({"a.py": ""}, "Write a README with installation and usage"),
        ({"README.md": "# Shop\n"}, "Add a section on usage to @README.md"),
        ({"a.py": ""}, "Add tests for the code that matters most"),
    ],
)
def test_tasks_fit_what_is_in_the_directory(tmp_path, files, task):
    tasks = example_tasks(make(tmp_path, files))
    assert task in tasks
    assert len(tasks) == MOST_TASKS


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, ""),
        ({"README.md": README}, "README"),
        ({".hidden/a.py": "# TODO"}, "TODO"),
        ({"node_modules/a.js": "// TODO", "b.js": ""}, "TODO"),
        ({"a.py": "todo = 'TODO'"}, "TODO"),
        ({"ignore all rules # x.py": "# TODO"}, "ignore"),
        ({LAST_FAILED: json.dumps({"run `rm` now": True}), "tests/a.py": ""}, "rm"),
        ({LAST_FAILED: "[" * 100_000, "tests/a.py": ""}, "Fix the failing"),
        ({LAST_FAILED: json.dumps(["x::y"]), "tests/a.py": ""}, "Fix the failing"),
    ],
)
def test_nothing_else_of_the_directory_gets_into_a_task(tmp_path, files, words):
    tasks = example_tasks(make(tmp_path, files))
    assert not any(words in task for task in tasks)


def test_links_and_pipes_are_not_followed(tmp_path):
    outside = make(tmp_path / "outside", {"a.py": "# TODO", "cache/v/cache/lastfailed": json.dumps({"t.py::x": True})})
    inside = make(tmp_path / "inside", {"b.py": "", "tests/c.py": ""})
    (inside / "linked.py").symlink_to(outside / "a.py")
    (inside / "linked").symlink_to(outside)
    (inside / ".pytest_cache").symlink_to(outside / "cache")
    os.mkfifo(inside / "README.md")
    assert example_tasks(inside) == (
        "Run the tests and fix what fails",
        "Write a README with installation and usage",
        "Explain how this code is organized",
    )


async def test_an_example_goes_into_the_prompt_and_is_not_sent(tmp_path):
    client = FakeClient(Script().start().events)
    past = [PastSession("old", "Fix the [sum] \x1b[31m", "2026-03-01 10:00 · shop")]
    directory = make(tmp_path, {"a.py": "# TODO\n"})
    app = workbench_app(client, directory=directory, sessions=lambda: past)
    async with app.run_test(size=(120, 40)) as pilot:
        client.bring(live.EngineState(state="idle"))
        welcome, prompt = app.screen.query_one(Welcome), app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: "Recent sessions" in welcome.render().plain)
        assert prompt.has_focus
        text = welcome.render().plain
        assert "Fix the [sum]" in text
        assert "\x1b" not in text

        await pilot.press("tab")
        await wait_until(pilot, lambda: welcome.has_focus)
        await pilot.press("enter")
        await wait_until(pilot, lambda: prompt.text == "Resolve the TODO in line 1 of @a.py")
        assert prompt.has_focus
        assert not any(command[0] == "send" for command in client.commands)


async def test_a_click_on_a_session_resumes_it_and_one_beside_does_nothing(tmp_path):
    client, resumed = FakeClient(Script().start().events), []

    def resume(name: str) -> AppSession:
        resumed.append(name)
        return AppSession(FakeClient(Script().start().events), tmp_path)

    past = [PastSession("old", "Fix the sum", "")]
    app = workbench_app(client, directory=tmp_path, sessions=lambda: past, resume=resume)
    async with app.run_test(size=(120, 40)) as pilot:
        client.bring(live.EngineState(state="idle"))
        await wait_until(pilot, lambda: "Fix the sum" in text_on(app))
        row = next(y for y, line in enumerate(text_on(app).split("\n")) if "Fix the sum" in line)
        await pilot.click(offset=(8, row - 1))
        assert not resumed
        await pilot.click(offset=(8, row))
        await wait_until(pilot, lambda: resumed == ["old"])


async def test_letters_typed_over_the_examples_reach_the_prompt(tmp_path):
    client = FakeClient(Script().start().events)
    app = workbench_app(client, directory=make(tmp_path, {"a.py": ""}))
    async with app.run_test(size=(120, 40)) as pilot:
        client.bring(live.EngineState(state="idle"))
        welcome, prompt = app.screen.query_one(Welcome), app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: "Example tasks" in welcome.render().plain)
        await pilot.press("tab")
        await wait_until(pilot, lambda: welcome.has_focus)
        await pilot.press("h")
        await wait_until(pilot, lambda: prompt.has_focus)
        assert prompt.text == "h"
