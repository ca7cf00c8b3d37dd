"""Reads that follow each other are one line, which unfolds; changes of the plan have no line."""

from __future__ import annotations

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.sample_session import WORKSPACE, Script, fold
from workbench.tui.widgets.card import ActionCard
from workbench.tui.widgets.timeline import Timeline
from workbench.view.formatting.actions import reads_title, title_of
from workbench.view.formatting.cards import card
from workbench.view.read_groups import group_of, is_hidden, line_item_of
from workbench.view.state import ActionItem


def view(script: Script, name: str, **more: object) -> str:
    return script.run("str_replace_editor", "text", command="view", path=f"{WORKSPACE}/src/{name}", **more)


def plan(script: Script) -> None:
    script.run("task_tracker", command="plan", task_list=[{"id": "1", "title": "Do it", "status": "done"}])


def three_reads() -> Script:
    script = Script().start().user("Look.")
    view(script, "a.py")
    plan(script)
    view(script, "b.py")
    script.run("grep", "x", pattern="TODO")
    return script


def lines_shown(script: Script) -> list[str]:
    items = [item for item in script.state().items if isinstance(item, ActionItem) and not is_hidden(item)]
    return ["".join(piece.text for piece in card(item, 80, WORKSPACE)[0]).rstrip() for item in items]


def test_reads_and_searches_are_one_line_with_their_names():
    assert lines_shown(three_reads()) == ["✓ Read 2 files, searched 1 time   a.py, b.py, TODO"]


@pytest.mark.parametrize("between", ["a message", "a command", "a failed read", "a read of a sub-agent"])
def test_anything_between_reads_divides_them(between: str):
    script = Script().start().user("Look.")
    view(script, "a.py")
    view(script, "b.py")
    if between == "a message":
        script.answer("One more.")
    elif between == "a command":
        script.run("execute_bash", "ok", command="make")
    elif between == "a failed read":
        view(script, "gone.py", _is_error=True)
    view(script, "c.py")
    state = script.state()
    if between == "a read of a sub-agent":
        state.actions["a3"].agent = "reviewer"
        state.actions["a3"].call_id = "a0"
        from workbench.view.read_groups import join_reads

        join_reads(state.items, state.actions["a3"])
    reads = [item for item in state.items if isinstance(item, ActionItem) and item.phase == "done" and item.reads]
    assert [item.action_id for item in group_of(reads[0])] == ["a1", "a2"]
    assert group_of(reads[-1]) == [reads[-1]]


def test_read_that_needs_approval_leaves_its_group():
    script = Script().start().user("Look.")
    view(script, "a.py")
    view(script, "b.py")
    waiting = script.ask("str_replace_editor", command="view", path="/etc/passwd")
    state = script.state()
    assert not is_hidden(state.actions[waiting])
    assert [item.action_id for item in group_of(state.actions["a1"])] == ["a1", "a2"]


def test_states_of_the_same_events_are_equal_although_reads_refer_to_each_other():
    events = three_reads().events
    assert fold(list(events)).items == fold(list(events)).items


@pytest.mark.parametrize("where", ["conversation", "timeline"])
async def test_a_group_unfolds_and_folds_in_both_panels(where: str):
    script = three_reads()
    script.answer("Done.")
    app = workbench_app(FakeClient(script.events))
    async with app.run_test(size=(120, 30)) as pilot:
        timeline = app.screen.query_one(Timeline)
        await wait_until(pilot, lambda: len(app.screen.query(ActionCard)) == 1 and timeline.count == 2)
        if where == "timeline":
            await pilot.press("f2", "home", "down", "enter")
        else:
            app.screen.query_one(ActionCard).focus()
            await pilot.press("enter")
        await wait_until(pilot, lambda: len(app.screen.query(ActionCard)) == 3 and timeline.count == 4)
        cards = app.screen.query(ActionCard)
        assert [each.item.action_id for each in cards] == ["a1", "a3", "a4"]
        await pilot.press("space")
        await wait_until(pilot, lambda: len(app.screen.query(ActionCard)) == 1 and timeline.count == 2)
        assert line_item_of(app.state.actions["a4"]) is app.state.actions["a1"]


async def test_reads_that_arrive_join_the_line_on_the_screen():
    script = Script().start().user("Look.")
    view(script, "a.py")
    client = FakeClient(list(script.events))
    app = workbench_app(client)
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_until(pilot, lambda: len(app.screen.query(ActionCard)) == 1)
        seen = len(script.events)
        view(script, "b.py")
        view(script, "gone.py", _is_error=True)
        client.bring(*script.events[seen:])
        await wait_until(pilot, lambda: len(app.screen.query(ActionCard)) == 2)
        first, second = app.screen.query(ActionCard)
        await wait_until(pilot, lambda: "Read 2 files   a.py, b.py" in first.render().plain)
        assert "gone.py" in second.render().plain
        assert app.screen.query_one(Timeline).count == 3


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("cd /home/ada/code/calc && make", "$ make"),
        ("cd '/home/ada/code/calc' && make", "$ make"),
        ('cd "/home/ada/code/calc/" &&make', "$ make"),
        ("cd /home/ada/code && make", "$ cd /home/ada/code && make"),
        ("cd /home/ada/code/calc; make", "$ cd /home/ada/code/calc; make"),
        ("cd $HOME && make", "$ cd $HOME && make"),
        ("cd /home/ada/code/calc &&", "$ cd /home/ada/code/calc &&"),
    ],
    ids=["plain", "quoted", "slash", "elsewhere", "semicolon", "variable", "nothing"],
)
def test_title_drops_a_leading_cd_into_the_workspace_only(command: str, title: str):
    script = Script().start()
    script.run("execute_bash", "ok", command=command)
    assert title_of(script.state().actions["a1"], WORKSPACE).text == title


def test_summary_is_the_title_of_a_command_and_is_made_safe():
    script = Script().start()
    action = script.propose("execute_bash", summary="Run\x1b[31m the tests", command="make test")
    edit = script.propose("str_replace_editor", summary="Fix the sign", command="str_replace", path=f"{WORKSPACE}/a.py")
    state = script.state()
    assert title_of(state.actions[action], WORKSPACE) == ("Run\\e[31m the tests", "make test")
    assert title_of(state.actions[edit], WORKSPACE) == ("Edit a.py", "Fix the sign")


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("Shall I use **one** table or `two`?", "Shall I use one table or two?"),
        ("## Which _column_?", "Which column?"),
        ("See [the plan](https://example.org/a) *first*?", "See the plan first?"),
        ("Rename max_cost_limit to **`max_cost`**?", "Rename max_cost_limit to max_cost?"),
        ("Is 2 * 3 * 4 right, and __init__.py?", "Is 2 * 3 * 4 right, and __init__.py?"),
    ],
)
def test_title_of_a_question_has_no_marks_of_markdown(question: str, title: str):
    script = Script().start()
    script.propose("ask_human", question=question)
    assert title_of(script.state().actions["a1"], WORKSPACE).text == title


def test_title_of_reads_counts_each_file_once():
    script = Script().start().user("Look.")
    view(script, "a.py", view_range=[1, 20])
    view(script, "a.py", view_range=[20, 40])
    items = [item for item in script.state().items if isinstance(item, ActionItem)]
    assert reads_title(items) == ("Read 1 file", "a.py")
