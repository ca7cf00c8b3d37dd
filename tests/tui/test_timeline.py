"""The timeline: one row for each relevant event, at every width, for any text, however long."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.tui.panel_app import PanelApp, screen_lines
from tests.tui.sample_session import START, STEADY, WORKSPACE, Script, long_session, working_session
from tests.tui.waiting import until
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.usage import Usage
from workbench.tui.widgets.timeline import Timeline
from workbench.view import clock
from workbench.view.formatting.timeline_rows import has_row, row
from workbench.view.state import ActionItem, Changed, NoticeItem, UserItem
from workbench.view.wrapping import Piece, clip, line_width, pad

NOW = START + timedelta(seconds=60)


def text_of(item: object, width: int) -> str:
    return "".join(piece.text for piece in row(item, width, NOW, WORKSPACE))  # type: ignore[arg-type]


def test_row_shows_state_title_risk_outcome_and_time():
    state = working_session().state()

    def words(action_id: str) -> str:
        return " ".join(text_of(state.actions[action_id], 60).split())

    assert words("a4") == "✗ $ pytest -q ◆ MEDIUM you exit 1 0.8s"
    assert words("a6") == "✓ Edit src/calc.py ◆ MEDIUM you +2 −1"
    assert words("a8") == "? $ rm -rf build ▲ HIGH"


@pytest.mark.parametrize(
    ("tool", "arguments", "observation", "words"),
    [
        ("glob", {"pattern": "**/*.py", "path": "/w/src"}, {"found": 1}, "Find **/*.py in src 1 file"),
        ("glob", {"pattern": "*"}, {"found": 240}, "Find * 240 files"),
        ("grep", {"pattern": "TODO", "include": "*.py"}, {"matched_lines": 12}, "Search TODO (*.py) 12 lines"),
        ("grep", {"pattern": "x\x1b["}, {"matched_lines": 0}, "Search x\\e[ 0 lines"),
        ("python_execute", {"code": "print(1)\nprint(2)"}, {}, "Python: print(1) …"),
    ],
)
def test_search_and_python_rows_show_subject_and_counts(tool, arguments, observation, words):
    item = ActionItem(1, 7, "a", tool, arguments, phase="done", risk="LOW", observation=observation)
    text = "".join(piece.text for piece in row(item, 60, NOW, "/w"))
    assert " ".join(text.split()) == f"✓ {words}"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("nosuch was not run: there is no tool 'nosuch'.", "nosuch was not run: there is no tool 'nosuch'. ◇ UNKNOWN"),
        ("it was cut off", "nosuch: it was cut off ◇ UNKNOWN"),
    ],
)
def test_unreadable_call_gives_the_reason_and_names_its_tool_once(error, words):
    item = ActionItem(1, 7, "a", "nosuch", {}, phase="skipped", error=error)
    assert " ".join(text_of(item, 90).replace("skipped", "").split()) == f"– 7 {words}"


def test_columns_are_dropped_one_after_the_other():
    failed = working_session().state().actions["a4"]

    assert "◆ MEDIUM" in text_of(failed, 56)
    assert "MEDIUM" not in text_of(failed, 55)
    assert "◆ you  exit 1  0.8s" in text_of(failed, 30)
    assert "◆ you  exit 1" in text_of(failed, 29)
    assert "0.8s" not in text_of(failed, 29)
    assert "pytest" in text_of(failed, 16)


def test_cost_and_tokens_are_shown_if_there_is_space():
    script = Script().start().answer("", cost=0.0123, usage=Usage(input=900, output=45))
    script.run("execute_bash", command="ls", _seconds=0.1)
    item = script.state().actions["a1"]

    assert text_of(item, 71).split()[-1:] == ["0.1s"]
    assert "$0" not in text_of(item, 71)
    assert text_of(item, 72).split()[-2:] == ["$0.012", "0.1s"]
    assert text_of(item, 96).split()[-4:] == ["$0.012", "45", "tok", "0.1s"]


def test_response_is_billed_once_by_its_first_action_that_has_a_row():
    script = Script().start().answer("", cost=0.0123, usage=Usage(input=900, output=45))
    script.run("task_tracker", command="plan", task_list=[])
    script.run("execute_bash", command="ls")
    script.run("execute_bash", command="pwd")
    items = [item for item in script.state().items if has_row(item)]

    assert ["$0.012" in text_of(item, 96) for item in items] == [True, False]
    assert ["45 tok" in text_of(item, 96) for item in items] == [True, False]


def test_reads_in_a_row_show_the_cost_of_their_responses():
    script = Script().start()
    for path in ("a.py", "b.py"):
        script.answer("", cost=0.01)
        script.run("str_replace_editor", command="view", path=f"{WORKSPACE}/{path}")
    item = script.state().actions["a1"]

    assert "Read 2 files" in text_of(item, 96)
    assert "$0.020" in text_of(item, 96)


def test_columns_of_figures_stay_in_place_without_a_time():
    script = Script().start()
    for seconds in (0.02, 12.0):
        script.answer("", cost=0.0123, usage=Usage(input=900, output=45))
        script.run("execute_bash", command="ls", _seconds=seconds)
    first, second = (text_of(script.state().actions[name], 120) for name in ("a1", "a2"))

    assert first.index("$0.012") == second.index("$0.012")
    assert first.index("45 tok") == second.index("45 tok")


def test_wide_row_shows_the_arguments_that_its_title_leaves_out():
    item = ActionItem(1, 7, "a", "str_replace_editor", {"command": "insert", "path": "a.py", "insert_line": 3})

    assert "Edit a.py   insert_line=3" in text_of(item, 96)
    assert "insert_line" not in text_of(item, 95)


def test_running_row_counts_the_seconds():
    running = working_session().state().actions["a7"]
    assert running.started is not None

    assert f"{int((NOW - running.started).total_seconds())}s" in text_of(running, 60)


@STEADY
@example("\r", 62, "x")
@given(
    st.text(),
    st.integers(8, 130),
    st.sampled_from(["execute_bash", "str_replace_editor", "think", "grep", "glob", "x"]),
)
def test_any_text_gives_one_row_of_exactly_the_width(text, width, tool):
    arguments = {"command": text, "path": text, "thought": text, "pattern": text, text: text}
    items = [
        ActionItem(1, 1, "a", tool, arguments, phase="failed", exit_code=127, risk="UNKNOWN", duration=1.0),
        UserItem(1, text, START),
        NoticeItem(1, text, "error"),
    ]

    for item in items:
        pieces = row(item, width, NOW, WORKSPACE)
        row_text = "".join(piece.text for piece in pieces)
        assert line_width(pieces) == width
        assert not any(sign in row_text for sign in "\n\r\t\x1b\x9b\u202e\u200b")


@STEADY
@given(st.text(), st.integers(0, 40))
def test_clipping_never_exceeds_the_width(text, width):
    assert line_width([Piece(clip(text, width))]) <= width
    assert line_width([Piece(pad(text, width))]) == width


def shown_rows(timeline: Timeline) -> list[str]:
    return [timeline.render_line(y).text for y in range(timeline.size.height)]


@pytest.mark.parametrize("width", [80, 120, 200])
async def test_rows_are_painted_and_the_selected_one_is_visible_without_color(width):
    app = PanelApp(working_session().state())
    async with app.run_test(size=(width, 30)) as pilot:
        timeline = app.query_one(Timeline)
        timeline.focus()
        await until(pilot, lambda: timeline.has_focus)
        rows = shown_rows(timeline)

        assert [line[0] for line in rows[:7]] == [" "] * 6 + ["›"]
        assert "rm -rf build" in rows[6]
        assert "▲" in rows[6]


async def test_keys_move_the_cursor_and_enter_opens_the_action():
    app = PanelApp(working_session().state())
    async with app.run_test(size=(120, 30)) as pilot:
        timeline = app.query_one(Timeline)
        timeline.focus()
        await pilot.press("home", "down", "enter", "end", "up", "enter")
        await until(pilot, lambda: len(app.chosen) == 2)

        assert app.chosen == ["a2", "a7"]


async def test_click_opens_the_action():
    app = PanelApp(working_session().state())
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.click(Timeline, offset=(8, 2))
        await until(pilot, lambda: app.chosen)

        assert app.chosen == ["a2"]


async def test_timeline_follows_the_end_until_the_cursor_leaves_it():
    app = PanelApp()
    script = Script().start()
    for number in range(60):
        script.run("execute_bash", command=f"echo {number}")
    async with app.run_test(size=(120, 24)) as pilot:
        app.take(*script.events)
        timeline = app.query_one(Timeline)
        await until(pilot, lambda: timeline.size.height > 0)
        assert timeline.is_vertical_scroll_end
        assert timeline.cursor == 59

        timeline.focus()
        await pilot.press("up")
        seen = len(script.events)
        script.run("execute_bash", command="echo more")
        app.take(*script.events[seen:])
        assert timeline.cursor == 58

        await pilot.press("end")
        seen = len(script.events)
        script.run("execute_bash", command="echo again")
        app.take(*script.events[seen:])
        assert timeline.cursor == 61
        assert timeline.is_vertical_scroll_end


async def test_timer_stops_while_nothing_runs(monkeypatch):
    script = Script().start()
    action_id = script.begin("execute_bash", command="sleep 5")
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 24)) as pilot:
        timeline = app.query_one(Timeline)
        monkeypatch.setattr(clock, "now", lambda: START + timedelta(seconds=300))
        await until(pilot, lambda: "4m 55s" in timeline.render_line(0).text)
        assert timeline.ticker.is_running

        app.take(ev.ActionObserved(seq=99, action_id=action_id, observation={}, duration=3))

        assert not timeline.ticker.is_running
        assert "3.0s" in timeline.render_line(0).text


async def test_rows_before_a_removed_one_are_not_painted_again(monkeypatch):
    script = Script().start()
    for number in range(9):
        script.run("execute_bash", command=f"echo {number}")
    app, other = PanelApp(script.state()), Script().start()
    other.run("execute_bash", command="echo another")
    async with app.run_test(size=(120, 30)) as pilot:
        timeline = app.query_one(Timeline)
        await until(pilot, lambda: sum(line.count("echo 8 ") for line in screen_lines(app)) == 2)
        painted: list[int] = []
        line = timeline.line
        monkeypatch.setattr(timeline, "line", lambda index, width: painted.append(index) or line(index, width))

        removed = app.state.items.pop()
        app.show(Changed(removed=[removed]))
        await until(pilot, lambda: "echo 7" in timeline.render_line(7).text and timeline.count == 8)
        added = next(item for item in other.state().items if isinstance(item, ActionItem))
        app.state.items.append(added)
        app.show(Changed(added=[added]))

        await until(pilot, lambda: "echo another" in timeline.render_line(8).text)
        assert set(painted) <= {7, 8}


async def test_only_visible_rows_of_ten_thousand_are_painted(monkeypatch):
    app = PanelApp()
    async with app.run_test(size=(120, 30)) as pilot:
        app.take(*long_session(10_000))
        timeline = app.query_one(Timeline)
        await until(pilot, lambda: timeline.size.height > 0)
        painted: list[int] = []
        monkeypatch.setattr(timeline, "line", lambda index, width: painted.append(index) or [])

        timeline.forget()
        timeline.focus()
        await pilot.press("up")
        await until(pilot, lambda: painted)

        assert len(set(painted)) <= timeline.size.height + 1
        assert timeline.virtual_size.height == 10_001


@settings(STEADY, max_examples=15)
@given(st.text(min_size=1), st.sampled_from(["[/red]", "[bold", "\x1b[31m", "\u202e", "[@click=app.quit]x[/]"]))
async def test_no_text_is_markup_or_crashes_the_widgets(text, nasty):
    text_shown = text + nasty
    script = Script().start(workspace="/[/w]").user(text_shown).answer(text_shown, reasoning=text_shown)
    task = {"id": text_shown, "title": text_shown, "status": "done", "notes": text_shown}
    script.run("task_tracker", text_shown, command="plan", task_list=[task])
    script.run("execute_bash", text_shown, command=text_shown, _exit_code=1)
    script.run(text_shown, text_shown, **{"anything": text_shown})
    delta = ev.FileDelta(path=f"/[/w]/{text_shown}", before=text_shown, after=nasty + text_shown)
    script.run("str_replace_editor", text_shown, command="create", path=text_shown, _files=(delta,))
    script.run("finish", text_shown, message=text_shown)
    script.add(ev.RunEnded, reason="error", detail=text_shown)
    app = PanelApp()
    async with app.run_test(size=(100, 40)) as pilot:
        app.take(*script.events, live.TextDelta(text=text_shown))
        await until(pilot, lambda: len(app.query("Conversation > *")) > 3)
        await pilot.pause()
        lines = [strip.text for strip in app.screen._compositor.render_strips()]

        assert not any(sign in line for line in lines for sign in "\x1b\u202e\x9b")
        if nasty in ("[/red]", "[bold"):
            assert any(nasty in line for line in lines)


def test_counts_of_changed_lines_are_aligned_over_rows():
    script = Script().start().user("Go.")
    for before, after in (("", "1\n" * 8), ("1\n", "2\n2\n"), ("1\n1\n", "")):
        path = f"{WORKSPACE}/a.py"
        delta = ev.FileDelta(path=path, before=before, after=after)
        script.run("str_replace_editor", "", command="str_replace", path=path, _files=(delta,))
    items = [item for item in script.state().items if isinstance(item, ActionItem)]
    rows = ["".join(piece.text for piece in row(item, 40, START)) for item in items]
    assert [each[-5:] for each in rows] == ["+8   ", "+2 −1", "   −2"]
