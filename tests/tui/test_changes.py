"""The changes list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.panel_app import PanelApp
from tests.tui.sample_session import STEADY, WORKSPACE, Script, working_session
from tests.tui.waiting import until
from workbench.protocol import events as ev
from workbench.tui.widgets.changes_panel import ChangesPanel, file_line
from workbench.view.state import FileState, SessionState
from workbench.view.wrapping import line_width


def text_of(file: FileState, width: int = 60) -> str:
    return "".join(piece.text for piece in file_line(file, WORKSPACE, width))


def test_file_shows_how_it_changed():
    assert text_of(FileState(f"{WORKSPACE}/a.py", "x\n", "y\nz\n")).split() == ["M", "a.py", "+2", "−1"]
    assert text_of(FileState(f"{WORKSPACE}/a.py", None, "y\n")).split() == ["A", "a.py", "+1"]
    assert text_of(FileState("/etc/b", "x\n", None)).split() == ["D", "/etc/b", "−1"]


async def test_changes_by_others_are_listed_below_the_agents_own():
    script = Script().start()
    script.add(ev.FilesChanged, files=(ev.FileDelta(path="/theirs", before="a", after="b"),))
    own = ev.FileDelta(path="/own", before="a", after="b")
    script.run("str_replace_editor", command="create", path="/own", _files=(own,))
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        panel = app.query_one(ChangesPanel)
        await until(pilot, lambda: panel.size.height > 0)
        assert [panel.render_line(y).text.split()[:2] for y in range(3)] == [
            ["M", "/own"],
            ["Edited", "elsewhere"],
            ["M", "/theirs"],
        ]
        panel.focus()
        await pilot.press("down", "enter", "down", "enter")
        await until(pilot, lambda: app.chosen)
        assert app.chosen == ["/theirs"]


@STEADY
@given(st.text(), st.integers(8, 100))
def test_any_path_fits_on_one_line(path, width):
    line = file_line(FileState(path, "a", "b"), WORKSPACE, width)

    assert line_width(line) <= width
    assert not any("\n" in piece.text or "\x1b" in piece.text for piece in line)


def counts(state: SessionState) -> str:
    return "".join(piece.text for piece in ChangesPanel.title_counts(state)).rstrip()


def test_heading_counts_added_and_removed_lines():
    state = SessionState()
    assert counts(state) == ""
    state.changes["/a"] = FileState("/a", None, "1\n2\n3\n")
    assert counts(state) == "+3"
    state.changes["/b"] = FileState("/b", "1\n", "2\n")
    assert counts(state) == "+4 −1"


async def test_list_is_updated_live_and_enter_opens_a_file():
    app = PanelApp()
    async with app.run_test(size=(120, 40)) as pilot:
        panel = app.query_one(ChangesPanel)
        await until(pilot, lambda: panel.size.height > 0)
        assert "No changes yet" in panel.render_line(0).text

        app.take(*working_session().events)
        app.take(ev.FilesChanged(seq=99, files=(ev.FileDelta(path="/etc/x", before="a", after=None),)))
        assert "src/calc.py" in panel.render_line(0).text
        assert "Edited elsewhere" in panel.render_line(1).text
        assert "/etc/x" in panel.render_line(2).text
        app.take(
            ev.FilesChanged(seq=100, files=(ev.FileDelta(path=f"{WORKSPACE}/src/calc.py", before="a", after="z"),))
        )
        rows = [panel.render_line(row).text.split()[:3] for row in range(4)]
        assert [row[0] for row in rows] == ["Edited", "M", "Edited", "D"]
        assert "Edited by the agent and elsewhere" in panel.render_line(0).text

        panel.focus()
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: app.chosen)
        assert app.chosen == ["/etc/x"]


async def test_key_switches_the_list_between_session_and_turn():
    script = Script().start().user("one")
    script.run("str_replace_editor", _files=(ev.FileDelta(path=f"{WORKSPACE}/a.py", before="1\n", after="2\n"),))
    script.add(ev.RunEnded, reason="finished")
    script.user("two")
    script.run("str_replace_editor", _files=(ev.FileDelta(path=f"{WORKSPACE}/b.py", before=None, after="x\n"),))
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        panel = app.screen.query_one(ChangesPanel)
        await wait_until(pilot, lambda: Content.from_markup(panel.border_title or "").plain.endswith(" +2 −1"))
        await pilot.press("f4", "full_stop")
        await wait_until(pilot, lambda: "this turn +1" in Content.from_markup(panel.border_title).plain)
        assert "b.py" in panel.render_line(0).text
        await pilot.press("full_stop")
        await wait_until(pilot, lambda: Content.from_markup(panel.border_title or "").plain.endswith(" +2 −1"))


def test_turn_without_changes_says_how_to_see_the_others():
    state = Script().start().user("one").state()
    state.only_turn = True
    assert counts(state) == "this turn"


async def test_counts_of_all_files_are_aligned():
    script = Script().start().user("Go.")
    texts = [("a.py", "", "1\n" * 8), ("b.py", "1\n" * 12, ""), ("c.py", "1\n" * 3, "2\n" * 120)]
    for name, before, after in texts:
        path = f"{WORKSPACE}/{name}"
        delta = ev.FileDelta(path=path, before=before, after=after)
        script.run("str_replace_editor", "", command="str_replace", path=path, _files=(delta,))
    app = PanelApp(script.state())
    async with app.run_test(size=(120, 40)) as pilot:
        panel = app.query_one(ChangesPanel)
        await until(pilot, lambda: panel.count == 3)
        rows = ["".join(piece.text for piece in panel.line(index, 40)) for index in range(3)]
        assert [each[-9:] for each in rows] == ["  +8     ", "     −12 ", "+120  −3 "]
