"""Every front end lists what an action deletes and how it is restored, and says it once."""

import io

import pytest

from tests.session.conftest import harness as harness
from tests.session.fake_agent import calls
from tests.session.test_snapshots import repository
from workbench.plain.narrator import Narrator
from workbench.plain.question import PlainQuestion
from workbench.protocol.deletion_list import DeletedPath, DeletionList
from workbench.tools import BashTool
from workbench.view.approval.questions import Bundle
from workbench.view.formatting.approval import all_of
from workbench.view.formatting.detail import full_text
from workbench.view.formatting.question import body_rows, deletion_rows, reason_lines
from workbench.view.reducer import apply
from workbench.view.state import ActionItem, SessionState

PLACES = ("build/", "cache/", "out.log")


class Paper:
    """Collects what a plain question shows."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def print(self, *lines: str) -> None:
        self.lines += lines

    async def show(self, lines) -> None:
        self.lines += lines

    async def answer(self, prompt: str) -> str:
        return "later"


@pytest.fixture
def asked(harness, tmp_path):
    """Return a session that asks about `rm` of two directories and a file, and the question's action."""
    snapshots = repository(tmp_path)
    workspace = snapshots.workspace
    for name in ("build", "cache"):
        (workspace / name).mkdir()
        (workspace / name / "a.o").write_text("a")
    (workspace / "out.log").write_text("o")
    bash = BashTool(working_dir=str(workspace))
    call = ("execute_bash", {"command": "rm -r build cache out.log", "summary": "Clean"}, "MEDIUM")
    one = harness(calls(call), workspace=workspace, repository=snapshots)
    one.tools["execute_bash"] = bash
    one.session.send("Clean up.")
    one.run()
    state = SessionState()
    for event in one.log():
        apply(state, event)
    (item,) = state.actions.values()
    yield one.session, item
    bash.close()


def shown(rows) -> str:
    return "\n".join("".join(piece.text for piece in row) for row in rows)


async def in_plain_mode(item: ActionItem) -> str:
    paper = Paper()
    await PlainQuestion(item, "", "medium", paper).ask()
    return "\n".join(paper.lines)


async def test_every_front_end_lists_each_place_once(asked):
    session, item = asked
    narration = io.StringIO()
    Narrator(narration.write).close("abc", [(action, "") for action in session.questions()], "")
    texts = {
        "screen": shown([*reason_lines(item, "medium", 100), *body_rows(item, None, 100, is_titled=False)]),
        "narrow screen": shown([*reason_lines(item, "medium", 40), *body_rows(item, None, 40, is_titled=False)]),
        "plain": await in_plain_mode(item),
        "batch": "\n".join(line.text for line in all_of(Bundle([item], 1))),
        "full text": full_text(item),
        "headless": narration.getvalue(),
    }
    for name, text in texts.items():
        for place in PLACES:
            assert text.count(f"deletes {place}") == 1, (name, text)
        assert text.count("can be undone: backup of 1 file") == 3, (name, text)


def test_edited_command_has_no_list_because_it_is_not_rated_yet(asked):
    _, item = asked
    assert "build/" not in shown(body_rows(item, {"command": "rm out.log"}, 100, is_titled=False))


def test_long_list_names_some_places_and_counts_the_others_and_what_is_lost():
    lost = [DeletedPath(path=f"{n}.bin", files=1, comes_back=False) for n in range(9)]
    found = [DeletedPath(path=f"{n}.txt", files=1) for n in range(30)]
    lists = (DeletionList(reason="r", summary="s", paths=(*lost, *found), more=4, more_lost=0),)
    rows = shown(deletion_rows(lists, 100)).splitlines()
    assert len(rows) < 12
    assert rows[-1] == f"… and {43 - len(rows) + 1} more, {9 - len(rows) + 1} of which can NOT be restored"
