"""Reviewing several files on one page: marks, steps, the ruler, the wheel, and a question that waits meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.diff_app import painted
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import WORKSPACE, Script
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.screens.approval import ApprovalScreen
from workbench.tui.screens.diff_viewer import DiffViewerScreen
from workbench.tui.widgets.annotated_diff import AnnotatedDiff
from workbench.tui.widgets.diff_files import DiffFiles
from workbench.tui.widgets.hunk_ruler import HunkRuler
from workbench.tui.widgets.key_hints import KeyHints

BEFORE = "".join(f"value_{number} = {number}\n" for number in range(60))
FILES = {
    "a.py": (BEFORE, BEFORE.replace("value_5 =", "five =").replace("value_40 =", "forty =")),
    "b.png": ("51 bytes\n", "48 bytes\n"),
    "c.py": (BEFORE, BEFORE.replace("value_30 =", "thirty =")),
}


class Viewer:
    """The whole app with a session that changed three files, and its diff viewer."""

    def __init__(self, keep: Path | None = None) -> None:
        self.script = Script().start().user("Change the files.")
        deltas = tuple(
            ev.FileDelta(path=f"{WORKSPACE}/{name}", before=before, after=after, cut="binary" if ".png" in name else "")
            for name, (before, after) in FILES.items()
        )
        self.script.run("execute_bash", "done", "MEDIUM", command="python change.py", _exit_code=0, _files=deltas)
        self.client = FakeClient(list(self.script.events))
        self.app = workbench_app(self.client, keep=(lambda name: keep) if keep is not None else None)

    def bring(self) -> None:
        self.client.bring(*[event for event in self.script.events if event.seq > self.app.state.last_seq])

    def changes(self, name: str, after: str) -> None:
        delta = ev.FileDelta(path=f"{WORKSPACE}/{name}", before=FILES[name][1], after=after)
        self.script.add(ev.FilesChanged, files=(delta,), by="person")
        self.bring()

    async def opens(self, pilot: Pilot[Any]) -> None:
        self.client.bring(live.EngineState(state="idle"))
        last = self.script.events[-1].seq
        await wait_until(pilot, lambda: self.app.state.last_seq == last and self.app.state.work == "idle")
        await pilot.press("f5")
        await wait_until(
            pilot, lambda: isinstance(self.app.screen, DiffViewerScreen) and "files to review" in self.title()
        )
        await wait_until(pilot, lambda: self.view.has_focus)

    @property
    def view(self) -> AnnotatedDiff:
        return self.app.screen_stack[1].query_one(AnnotatedDiff)

    def at(self) -> tuple[int, int]:
        """Return the file under the cursor and the hunk in it, from 0."""
        files = DiffFiles(self.view)
        return files.current, files.hunk

    def title(self) -> str:
        return str(self.app.screen_stack[1].query_one("#viewer-title").render())

    def hints(self) -> str:
        return self.app.screen_stack[1].query_one(KeyHints).render().plain


async def test_every_file_is_on_one_page_and_j_continues_into_the_next() -> None:
    viewer = Viewer()
    async with viewer.app.run_test(size=(100, 90)) as pilot:
        await viewer.opens(pilot)
        page = painted(viewer.view)
        assert all(text in page for text in ("a.py  +2 −2", "five", "forty", "b.png  binary", "c.py  +1 −1", "thirty"))
        visited = [viewer.at()]
        for _ in range(4):
            await pilot.press("j")
            visited.append(viewer.at())
        assert visited == [(0, 0), (0, 1), (1, -1), (2, 0), (2, 0)]
        await wait_until(pilot, lambda: "c.py" in viewer.title())
        await pilot.press("k", "k")
        assert viewer.at() == (0, 1)


async def test_marked_files_are_counted_down_until_one_changes() -> None:
    viewer = Viewer()
    async with viewer.app.run_test(size=(80, 24)) as pilot:
        await viewer.opens(pilot)
        assert "3 of 3 files to review" in viewer.title()
        await pilot.press("m")
        await wait_until(pilot, lambda: "2 of 3 files to review" in viewer.title())
        assert viewer.at()[0] == 1
        await pilot.press("m", "m")
        await wait_until(pilot, lambda: "all 3 files reviewed" in viewer.title())
        viewer.changes("a.py", FILES["a.py"][1] + "more = 1\n")
        await wait_until(
            pilot, lambda: "1 of 3 files to review │ M c.py" in viewer.title(), "only the changed file is left"
        )
        await pilot.press("m")
        await wait_until(pilot, lambda: "2 of 3 files to review" in viewer.title(), "the same key drops the mark")
        assert viewer.at()[0] == 2


async def test_marks_are_there_after_a_restart(tmp_path: Path) -> None:
    for title in ("3 of 3 files to review", "2 of 3 files to review"):
        viewer = Viewer(tmp_path)
        async with viewer.app.run_test(size=(80, 24)) as pilot:
            await viewer.opens(pilot)
            assert title in viewer.title()
            await pilot.press("m")
    assert {Path(path).name for path, _ in json.loads((tmp_path / "reviewed.json").read_text())} == {"a.py", "b.png"}


async def test_keys_act_on_the_file_that_the_wheel_has_brought_into_view() -> None:
    viewer = Viewer()
    async with viewer.app.run_test(size=(100, 13)) as pilot:
        await viewer.opens(pilot)
        view = viewer.view
        for _ in range(40):
            view.post_message(_wheel(view))
        await wait_until(pilot, lambda: view.scroll_offset.y == view.max_scroll_y <= view.marks.cursor)
        name = list(FILES)[viewer.at()[0]]
        assert name != "a.py"
        await wait_until(pilot, lambda: name in viewer.title())


def _wheel(view: AnnotatedDiff) -> events.MouseScrollDown:
    return events.MouseScrollDown(view, 5, 5, 0, 1, 0, False, False, False, screen_x=5, screen_y=5)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_click_on_the_ruler_goes_to_the_hunk(size: tuple[int, int]) -> None:
    viewer = Viewer()
    async with viewer.app.run_test(size=size) as pilot:
        await viewer.opens(pilot)
        ruler = viewer.app.screen.query_one(HunkRuler)
        signs = [index for index, line in enumerate(painted(ruler).split("\n")) if line.strip()]
        assert len(signs) >= 3
        await pilot.click(HunkRuler, offset=(0, signs[-1]))
        await wait_until(pilot, lambda: viewer.at() == (2, 0))
        await pilot.click(HunkRuler, offset=(0, signs[0]))
        await wait_until(pilot, lambda: viewer.at() == (0, 0))
        assert viewer.app.mouse_captured is None


async def test_waiting_question_is_named_and_answered_above_the_viewer() -> None:
    viewer = Viewer()
    async with viewer.app.run_test(size=(80, 24)) as pilot:
        await viewer.opens(pilot)
        assert "F8" not in viewer.hints()
        viewer.script.ask("execute_bash", "MEDIUM", command="make release")
        viewer.bring()
        await wait_until(pilot, lambda: "1 action needs approval" in text_on(viewer.app))
        assert isinstance(viewer.app.screen, DiffViewerScreen), "it opened by itself"
        assert "F8 Answer" in viewer.hints()
        assert "Esc Close" in viewer.hints()
        await pilot.press("y")
        assert viewer.client.commands == []
        await pilot.press("f8", "y")
        await wait_until(pilot, lambda: isinstance(viewer.app.screen, ApprovalScreen))
        assert viewer.client.commands == [], "a key that was pressed before the question was there approved it"
        question = viewer.app.screen
        assert isinstance(question, ApprovalScreen)
        await wait_until(pilot, lambda: question.quiet.is_armed)
        await pilot.press("y")
        await wait_until(pilot, lambda: isinstance(viewer.app.screen, DiffViewerScreen), "back in the viewer")
        assert [command[0] for command in viewer.client.commands] == ["decide"]


@pytest.mark.parametrize("waits", [False, True])
async def test_hints_are_sorted_and_all_of_them_fit_into_80_columns(waits: bool) -> None:
    viewer = Viewer()
    async with viewer.app.run_test(size=(80, 24)) as pilot:
        await viewer.opens(pilot)
        if waits:
            viewer.script.ask("execute_bash", "MEDIUM", command="make release")
            viewer.bring()
            await wait_until(pilot, lambda: "F8 Answer" in viewer.hints())
        order = ["Hunk", "File", "Answer", "Reviewed", "Comment", "Revert", "Scope", "Search", "Close"]
        expected = [word for word in order if word not in (("File", "Scope") if waits else ("Answer",))]
        assert [word for word in viewer.hints().split() if word in order] == expected
