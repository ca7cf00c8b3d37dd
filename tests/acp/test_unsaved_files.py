"""An editor's unsaved changes: the user decides whether they are saved before the agent reads or edits the file."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.acp.editor import Asked, cancelled, choose, editor, never, selected, until
from tests.acp.test_prompts import edit, log
from tests.sandbox import Sandbox, bash, finish
from tests.subagent_scripts import delegating
from workbench.protocol.events import ActionObserved, DelegateStep, RunEnded
from workbench.session.session_names import session_path
from workbench.session.storage.session_list import list_sessions
from workbench.session.storage.store import Store

VIEW = {"tool": "str_replace_editor", "arguments": {"command": "view", "path": "{workspace}/a.txt"}}
UNSAVED = "a.txt has unsaved changes"


@pytest.fixture
def file(sandbox: Sandbox) -> Path:
    """A file on the disk that the editor has other content for."""
    path = sandbox.project / "a.txt"
    path.write_text("one\ntwo\n")
    return path


def view(path: Path) -> dict[str, Any]:
    return {"tool": "str_replace_editor", "arguments": {"command": "view", "path": str(path)}}


def sub_agent_results(sandbox: Sandbox) -> list[str]:
    """Return what the models of the sub-agents were told after each call."""
    paths = (session_path(sandbox.locations, session.id) for session in list_sessions(sandbox.locations))
    with ExitStack() as stack:
        stores = [stack.enter_context(Store.open(path, readonly=True)) for path in paths]
        steps = [event.event for store in stores for event in store.events() if isinstance(event, DelegateStep)]
    return [step.observation["content"][0]["text"] for step in steps if isinstance(step, ActionObserved)]


def results(sandbox: Sandbox) -> list[str]:
    """Return what the model was told after each call."""
    observed = [event for event in log(sandbox) if isinstance(event, ActionObserved)]
    return [event.observation["content"][0]["text"] for event in observed]


@pytest.mark.parametrize(("choice", "seen"), [("Save the editor's version", "2\ttyped"), ("Use the file on", "2\ttwo")])
async def test_user_decides_which_version_the_agent_reads(sandbox: Sandbox, file: Path, choice: str, seen: str):
    buffers = {str(file): "one\ntyped\n"}
    model = sandbox.script(VIEW, VIEW, finish())
    async with editor(sandbox, "--model", model, answers=(choose(choice),), buffers=buffers) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
        (asked,) = ide.editor.asked
        assert asked.tool_call.title == UNSAVED
        assert asked.diffs == [(str(file), "one\ntwo\n", "one\ntyped\n")]
        status = "completed" if seen.endswith("typed") else "failed"
        assert ide.editor.calls()[UNSAVED]["status"] == status
    assert all(seen in text for text in results(sandbox)[:2])
    assert file.read_text() == ("one\ntyped\n" if seen.endswith("typed") else "one\ntwo\n")
    assert buffers == {str(file): "one\ntyped\n"}


async def test_edit_is_made_to_what_the_user_has_saved_and_its_question_shows_that(sandbox: Sandbox, file: Path):
    buffers = {str(file): "one\ntyped\n"}
    model = sandbox.script(edit("typed", "better"), finish())
    answers = (choose("Save the editor's version"), choose("Allow once"))
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=answers, buffers=buffers) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
        assert ide.editor.asked[1].diffs == [(str(file), "one\ntyped\n", "one\nbetter\n")]
    assert file.read_text() == "one\nbetter\n"


async def test_change_typed_while_a_question_waits_is_not_overwritten(sandbox: Sandbox, file: Path):
    buffers = {str(file): "one\ntwo\n"}

    def type_more(asked: Asked):
        buffers[str(file)] = "zero\none\ntwo\n"
        return selected(asked.option("Allow once"))

    answers = (type_more, choose("Save the editor's version"), choose("Reject"))
    model = sandbox.script(edit("two", "three"), finish())
    async with editor(sandbox, "--model", model, "--mode", "ask", answers=answers, buffers=buffers) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
        first, unsaved, again = ide.editor.asked
        assert unsaved.tool_call.title == UNSAVED
        assert first.diffs == [(str(file), "one\ntwo\n", "one\nthree\n")]
        assert again.diffs == [(str(file), "zero\none\ntwo\n", "zero\none\nthree\n")]
    assert file.read_text() == "zero\none\ntwo\n"


async def test_text_typed_during_the_question_is_shown_before_it_is_saved(sandbox: Sandbox, file: Path):
    buffers = {str(file): "typed\n"}

    def type_more(asked: Asked):
        buffers[str(file)] = "typed more\n"
        return selected(asked.option("Save"))

    model = sandbox.script(VIEW, finish())
    answers = (type_more, choose("Save the editor's version"))
    async with editor(sandbox, "--model", model, answers=answers, buffers=buffers) as ide:
        await ide.prompt(await ide.new(sandbox), "go")
        assert [asked.diffs[0][2] for asked in ide.editor.asked] == ["typed\n", "typed more\n"]
    assert file.read_text() == "typed more\n"


@pytest.mark.parametrize(
    "in_editor",
    ["one\ntwo\n", "one\r\ntwo\r\n", "one\ntwo"],
    ids=["the same", "other line ends", "no line end"],
)
async def test_file_without_changes_is_not_asked_about(sandbox: Sandbox, file: Path, in_editor: str):
    model = sandbox.script(VIEW, finish())
    async with editor(sandbox, "--model", model, buffers={str(file): in_editor}) as ide:
        await ide.prompt(await ide.new(sandbox), "go")
        assert ide.editor.reads == [str(file)]
        assert ide.editor.asked == []


async def test_version_that_the_agent_has_replaced_is_no_change_of_the_user(sandbox: Sandbox, file: Path):
    """An editor reads a file again some time after it has changed; until then it has the earlier content."""
    buffers = {str(file): "one\ntwo\n"}
    model = sandbox.script(edit("two", "three"), VIEW, bash("echo four > a.txt"), VIEW, finish())
    async with editor(sandbox, "--model", model, "--mode", "high", buffers=buffers) as ide:
        await ide.prompt(await ide.new(sandbox), "go")
        assert ide.editor.asked == []
    assert file.read_text() == "four\n"


async def test_file_that_is_only_in_the_editor_can_be_saved(sandbox: Sandbox):
    path = sandbox.project / "a.txt"
    model = sandbox.script(VIEW, finish())
    answers = (choose("Save the editor's version"),)
    async with editor(sandbox, "--model", model, answers=answers, buffers={str(path): "new\n"}) as ide:
        await ide.prompt(await ide.new(sandbox), "go")
    assert path.read_text() == "new\n"


async def test_answer_that_is_none_of_the_options_saves_nothing(sandbox: Sandbox, file: Path):
    model = sandbox.script(VIEW, finish())
    async with editor(sandbox, "--model", model, answers=(cancelled,), buffers={str(file): "typed\n"}) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
    assert file.read_text() == "one\ntwo\n"
    assert "1\tone" in results(sandbox)[0]


@pytest.mark.parametrize("is_sub_agent", [False, True], ids=["agent", "sub-agent"])
async def test_cancelled_prompt_ends_the_question(sandbox: Sandbox, file: Path, *, is_sub_agent: bool):
    agents = {"reader": [view(file), finish()]}
    model = delegating(sandbox.home / "script.toml", agents) if is_sub_agent else sandbox.script(VIEW, finish())
    async with editor(sandbox, "--model", model, answers=(never,), buffers={str(file): "typed\n"}) as ide:
        session = await ide.new(sandbox)
        prompt = asyncio.create_task(ide.prompt(session, "go"))
        await until(lambda: ide.editor.asked, "the question")
        await ide.agent.cancel(session_id=session)
        assert await prompt == "cancelled"
        assert ide.editor.calls()[UNSAVED]["status"] == "failed"
    assert file.read_text() == "one\ntwo\n"


async def test_run_continues_when_the_editor_leaves_the_question_open(sandbox: Sandbox, file: Path):
    model = sandbox.script(VIEW, finish())
    async with editor(sandbox, "--model", model, answers=(never,), buffers={str(file): "typed\n"}) as ide:
        prompt = asyncio.create_task(ide.prompt(await ide.new(sandbox), "go"))
        await until(lambda: ide.editor.asked, "the question")
        prompt.cancel()
    await until(lambda: any(isinstance(event, RunEnded) for event in log(sandbox)), "the end of the run")
    assert "1\tone" in results(sandbox)[0]


async def test_file_outside_the_workspace_is_not_read_in_the_editor(sandbox: Sandbox):
    path = sandbox.home / "other.txt"
    path.write_text("one\n")
    view = {"tool": "str_replace_editor", "arguments": {"command": "view", "path": str(path)}}
    model = sandbox.script(view, finish())
    async with editor(sandbox, "--model", model, "--mode", "high", buffers={str(path): "typed\n"}) as ide:
        await ide.prompt(await ide.new(sandbox), "go")
        assert ide.editor.reads == []


async def test_editor_that_cannot_save_is_reported_and_the_disk_counts(sandbox: Sandbox, file: Path):
    model = sandbox.script(VIEW, finish())
    answers = (choose("Save the editor's version"),)
    async with editor(sandbox, "--model", model, answers=answers, buffers={str(file): "typed\n"}) as ide:
        ide.editor.can_save = False
        await ide.prompt(await ide.new(sandbox), "go")
        assert "a.txt was not saved by the editor, so the agent uses the file on disk" in ide.editor.said()
    assert "1\tone" in results(sandbox)[0]


async def test_editor_without_files_is_never_asked(sandbox: Sandbox, file: Path):
    model = sandbox.script(VIEW, finish())
    async with editor(sandbox, "--model", model) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
        assert ide.editor.reads == []
    assert file.read_text() == "one\ntwo\n"


async def test_sub_agent_reads_what_the_user_has_saved_for_it(sandbox: Sandbox, file: Path):
    buffers = {str(file): "one\ntyped\n"}
    answers = (choose("Save the editor's version"),)
    model = delegating(sandbox.home / "script.toml", {"reader": [view(file), finish()]})
    async with editor(sandbox, "--model", model, answers=answers, buffers=buffers) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
        (asked,) = ide.editor.asked
        assert asked.tool_call.title == UNSAVED
    assert file.read_text() == "one\ntyped\n"
    assert "2\ttyped" in sub_agent_results(sandbox)[0]


async def test_sub_agents_that_use_files_at_once_ask_about_one_after_the_other(sandbox: Sandbox):
    paths = [sandbox.project / name for name in ("a.txt", "b.txt")]
    for path in paths:
        path.write_text("disk\n")
    asked_at_once: list[int] = []

    def save(asked: Asked):
        calls = ide.editor.calls().items()
        asked_at_once.append(sum("unsaved" in title and call["status"] == "pending" for title, call in calls))
        return selected(asked.option("Save the editor's version"))

    agents = {f"reader{number}": [view(path), finish()] for number, path in enumerate(paths)}
    model = delegating(sandbox.home / "script.toml", agents)
    buffers = {str(path): f"typed {path.name}\n" for path in paths}
    async with editor(sandbox, "--model", model, answers=(save, save), buffers=buffers) as ide:
        assert await ide.prompt(await ide.new(sandbox), "go") == "end_turn"
        assert sorted(asked.tool_call.title for asked in ide.editor.asked) == [
            f"{path.name} has unsaved changes" for path in paths
        ]
    assert [path.read_text() for path in paths] == ["typed a.txt\n", "typed b.txt\n"]
    assert asked_at_once == [1, 1]
