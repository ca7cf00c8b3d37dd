"""The key hints of a question: which of them fit on a line, and which are never omitted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from tests.tui.approval_app import arm, ask, edit, keys_shown, painted_part
from workbench.protocol.events import FileDelta
from workbench.tui.widgets.dock import SIDES
from workbench.view.approval.proposal import Proposal
from workbench.view.formatting.approval import files_written
from workbench.view.formatting.key_hints import KeyHint, fitting, gap_between, hints_width
from workbench.view.formatting.question import Moment, answer_keys

READ = Moment(is_read=True, armed=True, may_always=True)
UNREAD, EARLY = replace(READ, is_read=False), replace(READ, armed=False)
ALL = (
    *("y Approve", "n Reject…", "space Skip", "e Edit", "a Always…"),
    *("d Full screen", "tab Note", "Esc Not now", "? All"),
)


def line(now: Moment, columns: int) -> str:
    width = columns - SIDES
    hints = fitting(answer_keys(Proposal(files_written(edit())), now), width)
    assert hints_width(hints, gap_between(hints, width)) <= width
    return (" " * gap_between(hints, width)).join(hint.text for hint in hints)


@pytest.mark.parametrize(
    ("now", "columns", "text"),
    [
        (READ, 120, "   ".join(ALL)),
        (READ, 80, "y Approve  n Reject…  space Skip  e Edit  a Always…  Esc Not now  ? All"),
        (READ, 40, "y Approve  n Reject…  Esc Not now  ?"),
        (EARLY, 40, "y in 0.5s  n Reject…  Esc Not now  ?"),
        (UNREAD, 80, "End, then y (you have not seen all of it)   n Reject…   Esc Not now   ? All"),
        (UNREAD, 40, "End, then y   n Reject…   ?"),
    ],
)
def test_narrow_lines_have_narrow_gaps_and_short_words(now: Moment, columns: int, text: str) -> None:
    assert line(now, columns) == text


@pytest.mark.parametrize("now", [READ, UNREAD, EARLY, replace(READ, waiting=3, all_words="Approve 2 of 3")])
def test_reject_and_the_list_of_all_keys_are_on_every_line(now: Moment) -> None:
    for columns in range(40, 201):
        words = line(now, columns)
        assert "n Reject…" in words
        assert "?" in words


def test_single_hint_that_does_not_fit_ends_in_an_ellipsis() -> None:
    assert [hint.text for hint in fitting([KeyHint("", "no hunk accepted")], 10)] == ["no hunk a…"]
    assert [hint.text for hint in fitting([KeyHint("y", "Approve 2 of 3")], 10)] == ["y Approve…"]


async def test_title_gives_up_facts_before_it_cuts_the_path() -> None:
    change = FileDelta(path="/w/src/calc.py", before="x = 1\n", after="x = 2\n")
    arguments = {"command": "str_replace", "path": change.path}
    app, clock = ask(structs.replace(edit(), arguments=arguments, preview=(change,)))
    async with app.run_test(size=(40, 12)) as pilot:
        await arm(pilot, app, clock)
        title = str(app.pushed.query_one("#title").render())
        assert title.split() == ["Edit", "src/calc.py", "+1", "−1", "◆", "MEDIUM"]
        assert not app.pushed.query_one("#what").display, "the path is in the title already"
        assert keys_shown(app) == "y Approve  n Reject…  Esc Not now  ?"
        assert "asked because" in painted_part(app, "#why")
