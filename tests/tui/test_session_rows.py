"""Rows of the sessions page: which columns they show at which width."""

from datetime import timedelta

import pytest

from tests.tui.sample_session import START
from tests.tui.session_files import keep
from workbench.config.locations import Locations
from workbench.config.settings import Settings
from workbench.session.storage.session_list import SessionSummary
from workbench.tui.start import Opener
from workbench.view import clock
from workbench.view.formatting.sessions import SessionRow, session_row
from workbench.view.sessions import family_rows
from workbench.view.wrapping import line_width


def columns(width: int, added: int, removed: int) -> str:
    entry = SessionSummary(id="s1", workspace="/home/ada/calc", title="Fix the sign", updated=START, cost=0.4)
    line = session_row(SessionRow(entry, added=added, removed=removed), width, START + timedelta(hours=1))
    assert line_width(line) == width
    return "".join(piece.text for piece in line).partition("Fix the sign")[2]


@pytest.mark.parametrize(
    ("width", "added", "removed", "shown"),
    [
        (116, 412, 38, "+412    −38"),
        (90, 12_345, 9_876, "+12345  −9876"),
        (89, 412, 38, "+412   −38"),
        (70, 1_234, 0, "+1.2k"),
        (74, 9_949, 9_950, "+9.9k  −10k"),
        (74, 999_499, 999_500, "+999k   −1M"),
        (74, 10**12, 10**12, "+999M −999M"),
        (74, 0, 7, "−7"),
    ],
)
def test_changed_lines_are_shown_beside_the_cost_at_every_usual_width(width, added, removed, shown):
    assert shown in columns(width, added, removed).partition("$0.40")[0]


def test_narrow_rows_end_with_the_time_of_today_or_the_date():
    assert columns(76, 0, 0).endswith(" 12:00")
    entry = SessionSummary(id="s1", title="Fix the sign", updated=START - timedelta(days=400))
    line = session_row(SessionRow(entry), 76, START)
    assert "".join(piece.text for piece in line).endswith("  2025-01-25")


def test_narrow_rows_have_no_changed_lines():
    assert "+" not in columns(69, 412, 38)


def test_forks_follow_the_session_that_they_come_from_in_its_group():
    def row(name: str, origin: str = "", damaged: str = "") -> SessionRow:
        return SessionRow(SessionSummary(id=name, workspace=f"/{name}", forked_from=origin, damaged=damaged))

    rows = [row("c", "b"), row("x"), row("b", "a"), row("d", "a"), row("a"), row("y", "gone"), row("z", "x", "torn")]
    rows += [row("p", "q"), row("q", "p")]
    listed = [(each.entry.id, each.depth, each.directory) for each in family_rows(rows)]
    assert listed == [
        ("x", 0, "/x"),
        ("a", 0, "/a"),
        ("b", 1, "/a"),
        ("c", 2, "/a"),
        ("d", 1, "/a"),
        ("y", 0, "/y"),
        ("z", 0, "/z"),
        ("p", 0, "/p"),
        ("q", 0, "/q"),
    ]


def test_recent_sessions_have_the_time_of_today_or_the_date_as_the_list_has(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(clock, "now", lambda: START + timedelta(hours=1))
    keep("s1", "Fix the sign", at=START, workspace="/home/ada/calc")
    keep("s2", "Write a README", at=START - timedelta(days=3), workspace="/home/ada/notes")
    past = Opener(Locations.from_environment(), Settings()).past()
    assert [each.words for each in past] == [f"{START.astimezone():%H:%M} · calc", "26 Feb · notes"]
