"""An open question is asked again when its file changes: note and fitting edits stay, no early key answers it."""

import re
import time
from typing import Any

import pytest

from tests.tui.app_driver import wait_until
from tests.tui.picture_sessions import assess, begun
from tests.tui.pictures import app_with, show_events, text_on
from tests.tui.sample_session import WORKSPACE, Script
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.tui.screens.approval import ApprovalScreen
from workbench.view.approval.quiet_time import QUIET

PATH = f"{WORKSPACE}/notes.txt"
OLD = [f"line {number}\n" for number in range(1, 31)]


def text(**replaced: str) -> str:
    """Return the lines of the file, some of them replaced: `l3="three"`."""
    lines = list(OLD)
    for name, line in replaced.items():
        lines[int(name.removeprefix("l")) - 1] = f"{line}\n"
    return "".join(lines)


class Question:
    """The app with one open question about a file, of which later versions can be asked."""

    def __init__(self, directory: Any, *, more: bool = False) -> None:
        self.script: Script = begun()
        self.name = self.script.propose("str_replace_editor", "MEDIUM", "edit", command="str_replace", path=PATH)
        self.version(text(), text(l3="three", l15="fifteen", l27="twenty-seven"), "f1")
        if more:
            other = self.script.propose("execute_bash", "MEDIUM", "list", command="ls")
            assess(self.script, other, "MEDIUM", fingerprint="other")
        self.client, self.app = app_with(self.events, directory, "ohw-dark")

    @property
    def events(self) -> list[Any]:
        return [*self.script.events, live.EngineState(state="deciding")]

    def version(self, before: str, after: str, fingerprint: str) -> None:
        delta = ev.FileDelta(path=PATH, before=before, after=after)
        reason = ("notes.txt has changed since this was shown: the diff is the new one",) if fingerprint > "f1" else ()
        assess(self.script, self.name, "MEDIUM", preview=(delta,), fingerprint=fingerprint, reasons=reason)

    def change(self, before: str, after: str, fingerprint: str = "f2") -> None:
        """Let the engine ask again."""
        self.version(before, after, fingerprint)
        self.client.bring(self.script.events[-1])

    @property
    def screen(self) -> ApprovalScreen:
        screen = next(screen for screen in reversed(self.app.screen_stack) if isinstance(screen, ApprovalScreen))
        return screen

    def decisions(self) -> list[tuple[Any, ...]]:
        """Return what was sent: verdict, fingerprint, note and, if any, what the user changed."""
        return [command[2:] for command in self.client.commands if command[0] == "decide"]

    @property
    def words(self) -> str:
        """The text on the screen without borders, on one line."""
        return " ".join(re.sub("[│─╭╮╰╯▌]", " ", text_on(self.app)).split())


@pytest.fixture
def question(directory) -> Question:
    return Question(directory)


async def opened(pilot: Any, question: Question) -> None:
    await show_events(pilot, question.client, question.events)
    await armed(pilot, question)


async def armed(pilot: Any, question: Question) -> None:
    await wait_until(pilot, lambda: question.screen.quiet.is_armed)


async def press(pilot: Any, *keys: str) -> None:
    for key in keys:
        await pilot.press(key)


CHANGED = text(l4="four by me")
AFTER = text(l3="three", l4="four by me", l15="fifteen", l27="twenty-seven")
NEWS = "This is a new version"


async def renewed(pilot: Any, question: Question, before: str = CHANGED, after: str = AFTER) -> None:
    old = question.screen
    question.change(before, after)
    await wait_until(pilot, lambda: question.screen is not old and NEWS in question.words)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80", "120"])
async def test_question_shows_the_new_diff_and_says_so(question, size):
    async with question.app.run_test(size=size) as pilot:
        await opened(pilot, question)
        await renewed(pilot, question)
        assert "four by me" in question.words
        assert "changed since this was shown" in text_on(question.app)
        await armed(pilot, question)
        await press(pilot, "end", "y")
        await wait_until(pilot, question.decisions)
    assert question.decisions() == [("approved", "f2", "")]


async def test_keys_pressed_at_the_moment_of_the_change_never_approve_the_new_content(question):
    """A `y` before the screen knows has the old fingerprint, which the engine refuses; later ones are too early."""
    async with question.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, question)
        await press(pilot, "end")
        question.change(CHANGED, AFTER)
        for _ in range(30):
            began = time.monotonic()
            await pilot.press("y")
            if time.monotonic() - began > QUIET / 2:
                break  # on a machine this busy, the next key would come after a pause, and may answer
        await wait_until(pilot, lambda: question.decisions() or question.screen.quiet.has_begun)
    assert {fingerprint for _, fingerprint, _ in question.decisions()} <= {"f1"}


@pytest.mark.parametrize("key", ["y", "n", "tab", "e", "E", "space", "a"])
async def test_no_key_acts_before_the_new_question_could_be_read(question, key):
    async with question.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, question)
        await press(pilot, "end")
        await renewed(pilot, question)
        question.screen.quiet.restart()
        await pilot.press(key)
        screen = question.screen
        assert (screen.is_finished, screen.box.is_writing, screen.box.editor) == (False, False, None)
        assert not screen.proposal.is_changed
    assert question.decisions() == []


async def test_new_content_must_be_read_to_its_end_again(question):
    async with question.app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, question)
        await press(pilot, "end")
        await wait_until(pilot, lambda: question.screen.box.check_read())
        await renewed(pilot, question)
        await armed(pilot, question)
        assert not question.screen.box.check_read()
        await pilot.press("y")
        assert question.decisions() == []


async def test_note_and_edits_that_fit_are_kept(question):
    async with question.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, question)
        await press(pilot, "tab", *"why", "enter")
        question.screen.proposal.toggle(0)
        question.screen.proposal.edit(2, "mine\n")
        await renewed(pilot, question)
        assert question.screen.box.note == "why"
        await wait_until(pilot, lambda: "Note: why" in text_on(question.app))
        assert (question.screen.proposal.out, question.screen.proposal.edited) == ({0}, (2,))
        assert "Your changes to its hunks are kept" in question.words
        await armed(pilot, question)
        await press(pilot, "end", "y")
        await wait_until(pilot, question.decisions)
    ((verdict, fingerprint, note, changes),) = question.decisions()
    assert (verdict, fingerprint, note, changes["hunks"]) == ("edited", "f2", "why", (1, 2))
    assert changes["written"][0].text == CHANGED.replace("line 15", "fifteen").replace("line 27", "mine")


@pytest.mark.parametrize("edited", [0, 1], ids=["skipped", "edited"])
async def test_change_of_an_edited_hunk_itself_drops_the_edit_and_says_so(question, edited):
    async with question.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, question)
        if edited:
            question.screen.proposal.edit(0, "mine\n")
        else:
            question.screen.proposal.toggle(0)
        changed = text(l3="line three by me")
        await renewed(pilot, question, changed, text(l3="three", l15="fifteen", l27="twenty-seven"))
        assert not question.screen.proposal.is_changed
        assert "no longer fits" in question.words
        assert "are kept" not in question.words


FIELDS = {"note": ("tab",), "reason": ("n",), "hunk": ("e",)}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("close", ["enter", "escape"])
async def test_open_text_field_is_not_taken_away_and_decides_nothing(question, field, close):
    async with question.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, question)
        await press(pilot, *FIELDS[field], *"mine ")
        old = question.screen
        question.change(CHANGED, AFTER)
        await wait_until(pilot, lambda: old._renewal.is_outdated)
        await press(pilot, *"text")
        assert question.screen is old
        await pilot.press("ctrl+s" if field == "hunk" and close == "enter" else close)
        await wait_until(pilot, lambda: question.screen is not old and NEWS in question.words)
        assert question.screen.proposal.edited == ((0,) if (field, close) == ("hunk", "enter") else ())
        assert question.screen.box.note == ("mine text" if field != "hunk" and close == "enter" else "")
    assert question.decisions() == []


@pytest.mark.parametrize("key", ["v", "question_mark"])
async def test_screen_above_the_question_closes_with_a_notice(question, key):
    async with question.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, question)
        await pilot.press(key)
        await wait_until(pilot, lambda: not isinstance(question.app.screen, ApprovalScreen))
        await renewed(pilot, question)
        assert question.app.screen is question.screen
        assert any("nothing was approved" in note.message for note in question.app._notifications)


async def test_batch_approved_while_one_of_it_changes_leaves_that_one_out(directory):
    question = Question(directory, more=True)
    async with question.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, question)
        await press(pilot, "end", "Y")
        await wait_until(pilot, lambda: not isinstance(question.app.screen, ApprovalScreen))
        await renewed(pilot, question)
    assert question.decisions() == []


async def test_question_behind_typed_text_opens_again_all_the_same(question):
    """It was open before, so it does not wait until the prompt is empty."""
    async with question.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, question)
        question.screen._keys._type_in_prompt("half a sentence")
        await renewed(pilot, question)
        assert question.app.screen is question.screen


async def test_several_changes_in_a_row_end_with_the_last(question):
    async with question.app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, question)
        question.screen.proposal.toggle(1)
        for number in range(2, 8):
            before = text(l4=f"four {number}")
            after = text(l3="three", l4=f"four {number}", l15="fifteen", l27="twenty-seven")
            question.change(before, after, f"f{number}")
        await wait_until(pilot, lambda: "four 7" in text_on(question.app))
        assert question.screen.proposal.out == {1}
        assert len([screen for screen in question.app.screen_stack if isinstance(screen, ApprovalScreen)]) == 1
        await armed(pilot, question)
        await press(pilot, "end", "y")
        await wait_until(pilot, question.decisions)
    assert [fingerprint for _, fingerprint, *_ in question.decisions()] == ["f7"]
