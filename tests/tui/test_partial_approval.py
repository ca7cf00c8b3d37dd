"""The display of a partly accepted change, and of a file changed by somebody else."""

import pytest
from msgspec.structs import replace

from tests.tui.sample_session import WORKSPACE, Script, fold
from workbench.protocol import events as ev
from workbench.protocol.stale_file import StaleFile
from workbench.view.formatting.actions import action_line, outcome
from workbench.view.formatting.approval import what_runs
from workbench.view.formatting.cards import card
from workbench.view.formatting.detail import detail_text, full_text

PATH = f"{WORKSPACE}/a.txt"
BEFORE = "".join(f"line {number}\n" for number in range(1, 30))
WANTED = BEFORE.replace("line 2\n", "two\n").replace("line 20\n", "twenty\n")
FIRST = BEFORE.replace("line 2\n", "two\n")


def decided(text, hunks=None, *, seen=True):
    script = Script().start().answer()
    delta = ev.FileDelta(path=PATH, before=BEFORE, after=WANTED)
    action_id = script.ask("str_replace_editor", "MEDIUM", (delta,), command="str_replace", path=PATH)
    written = (ev.FileText(path=PATH, text=text),)
    script.add(ev.ActionDecided, action_id=action_id, verdict="edited", by="person", hunks=hunks, written=written)
    if seen:
        script.end(action_id, "told", files=(replace(delta, after=text),))
    return script.state()


def plain(lines):
    return "\n".join("".join(piece.text for piece in line) for line in lines)


@pytest.mark.parametrize("seen", [True, False])
def test_card_row_and_changes_show_the_written_text_not_the_proposal(seen):
    state = decided(FIRST, (0,), seen=seen)
    (item,) = state.actions.values()
    text = plain(card(item, 60, WORKSPACE))
    assert "a.txt · 1 of 2 hunks" in text
    assert "two" in text
    assert "twenty" not in text
    assert outcome(item) == ("+1 −1" if seen else "")
    assert [(file.added, file.removed) for file in state.changes.values()] == ([(1, 1)] if seen else [])
    assert "accepted in part by you" in detail_text(item)
    assert "written: 1 of 2 hunks" in detail_text(item)


@pytest.mark.parametrize(
    ("text", "hunks", "description"),
    [
        (f"{FIRST}mine\n", (0,), "1 of 2 hunks, changed by you"),
        (f"{WANTED}mine\n", (0, 1), "changed by you"),
        (f"{FIRST}mine\n", None, "changed by you"),
    ],
)
def test_users_edit_is_described(text, hunks, description):
    (item,) = decided(text, hunks).actions.values()
    assert action_line(item, WORKSPACE) == f"a.txt · {description}"


def test_repeated_question_shows_the_proposal_again():
    state = decided(FIRST, (0,), seen=False)
    (item,) = state.actions.values()
    delta = ev.FileDelta(path=PATH, before=BEFORE, after=WANTED)
    again = ev.ActionAssessed(seq=99, action_id=item.action_id, risk="MEDIUM", preview=(delta,))
    fold_on(state, again)
    assert (item.part, item.preview) == ("", (delta,))


def fold_on(state, event):
    from workbench.view.reducer import apply

    apply(state, event)


def test_question_shows_others_changes_and_its_details_all_of_them():
    theirs = BEFORE + "".join(f"more \x1b[2J {number}\n" for number in range(20))
    stale = StaleFile(path=PATH, seen=BEFORE, theirs=theirs, wanted=WANTED)
    script = Script().start().answer()
    action_id = script.propose("str_replace_editor", "MEDIUM", command="str_replace", path=PATH)
    script.add(
        ev.ActionAssessed,
        action_id=action_id,
        risk="MEDIUM",
        preview=(ev.FileDelta(path=PATH, before=theirs, after=theirs.replace("line 2\n", "two\n")),),
        stale=(stale,),
    )
    item = fold(script.events).actions[action_id]
    text = "\n".join(line.text for line in what_runs(item))
    assert f"The other change to {PATH}" in text
    assert "  + more \\e[2J 0" in text
    assert "13 more lines of it in the full text" in text
    whole = full_text(item)
    assert "more \\e[2J 19" in whole
    assert "as the agent proposed it  +2 −2" in whole
    assert "  + twenty" in whole
    assert "\x1b" not in text + whole
