"""Every decision can be listed, filtered and exported, of one session or of all, and exports name who allowed each
action.
"""

from __future__ import annotations

import csv
import io
import json
import time

import pytest

from tests.sandbox import Sandbox
from tests.tui.decision_files import MODE, act, keep_all_kinds, keep_decided
from tests.tui.session_files import keep
from workbench.config.locations import Locations
from workbench.plain.narration import item_lines
from workbench.plain.narrator import Narrator
from workbench.protocol import events as ev
from workbench.session.session_names import session_path
from workbench.session.storage.decision_log import RecordedDecision, Unreadable, all_decisions, session_decisions
from workbench.session.storage.store import Store
from workbench.view.decision_list import DecisionList
from workbench.view.decisions import DecisionFilter, DecisionRow, details_of, exported, rows_of
from workbench.view.transcript.html import page_of
from workbench.view.transcript.markdown import markdown_of
from workbench.view.transcript.transcript import Recorded, RecordedState

HOSTILE = "=cmd|' /C calc'!A0 \x1b[31m | <b>x</b> [y](http://z) `q` \u202e, \"two\""


@pytest.fixture
def where(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    keep_all_kinds()
    return Locations.from_environment()


def decided(where: Locations, session: str) -> list[RecordedDecision]:
    return [each for each in session_decisions(where, session) if isinstance(each, RecordedDecision)]


def rows(where: Locations) -> list[DecisionRow]:
    return list(rows_of(all_decisions(where), []))


def test_a_session_lists_its_decisions_the_latest_first(where):
    listed = decided(where, "s1")
    assert [each.action_id[0] for each in listed] == list("gfedcba")
    edited = listed[3]
    assert (edited.verdict, edited.arguments["command"], edited.asked_by) == ("edited", "git push --dry-run", MODE)
    assert (edited.risk, edited.model_risk, edited.reasons) == ("HIGH", "LOW", ("changes files",))


def test_all_sessions_are_listed_last_used_first_with_each_decision_once_and_damaged_files_named(where):
    listed = list(all_decisions(where))
    assert [each.session for each in listed if isinstance(each, Unreadable)] == ["s9"]
    sessions = [each.session for each in listed if isinstance(each, RecordedDecision)]
    assert sessions == ["s1"] * 7 + ["s2"] * 8, "the sub-agent's file is left out, its steps are in the session"
    assert decided(where, "s2")[0].agent == "tester"
    assert len(decided(where, "s1-tester")) == 7


def test_decision_without_its_proposal_is_listed(where):
    keep("s3", "x", *act("z", "execute_bash", "LOW", "mode", MODE, command="ls")[1:])
    (lost,) = decided(where, "s3")
    assert (lost.action_id, lost.verdict, lost.tool) == ("z", "approved", "")


def test_each_of_two_decisions_on_an_action_has_the_assessment_before_it(where):
    first = act("z", "execute_bash", "LOW", "mode", MODE, command="ls")
    second = [
        ev.ActionAssessed(action_id="z", risk="HIGH", rule=MODE),
        ev.ActionDecided(action_id="z", verdict="rejected", by="person"),
    ]
    keep("s3", "x", *first, *second)
    assert [(each.risk, each.verdict) for each in decided(where, "s3")] == [("HIGH", "rejected"), ("LOW", "approved")]


def test_long_command_is_not_cut(where):
    keep("s3", "x", *act("z", "execute_bash", "LOW", "mode", MODE, command="echo " + "a" * 50_000))
    (long,) = decided(where, "s3")
    assert len(long.arguments["command"]) == 50_005


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 15),
        ("by:you", 6),
        ("by:person", 6),
        ("by:mode", 3),
        ("by:rule denied", 2),
        ("denied", 4),
        ("edited", 2),
        ("allowed risk:high", 2),
        ("risk:medium tool:bash", 3),
        ("rule:pytest", 2),
        ("rule:ask", 9),
        ("in:notes make", 1),
        ("agent:tester", 1),
        ("session:s1 rm", 1),
        ("CALC.PY", 4),
        ("since:2100-01-01", 0),
        ("since:2100/1/1", 0),
        ("since:2100-01-01T08:00", 0),
        ("since:today", 0),
        ("since:yesterday", 0),
        ("since:2026-2-28", 7),
        ("since:2026-02-28T10:00Z", 7),
        ("since:2026-02-28T10:00:00.5+00:00", 7),
        ("until:2026/2/28", 8),
        ("until:2026-02", 8),
        ("until:2026-", 15),
        ("since:12h", 0),
        ("since:9999w", 15),
        ("until:1d", 15),
        ("since:20", 0),
        ("by:y", 6),
        ("risk:med tool:bash", 3),
        ("verdict:denied", 4),
        ("verdict:rejected", 2),
        ("rejected by:rule", 0),
        ("verdict:allowed risk:HIGH", 2),
        ('rule:"allow $ pytest *"', 2),
        ('rule:"allow $ pytest', 2),
        ('"rm -rf"', 2),
        ("until:2100", 15),
        ("nothing", 0),
    ],
    ids=str,
)
def test_filter_accepts_words_and_terms(where, text, count):
    assert sum(map(DecisionFilter(text).fits, rows(where))) == count


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("since:30.11.2026", "since needs a date"),
        ("since:soon", "since needs a date"),
        ("until:99999999w", "until needs a date"),
        ("since:2026-13-45T10:00:00", "since needs a date"),
        ("risk:purple", "risk is low, medium, high or unknown, not 'purple'"),
        ("by:nobody", "by is you, rule, mode or person, not 'nobody'"),
        ("verdict:perhaps", "verdict is allowed, denied, rejected or edited, not 'perhaps'"),
    ],
    ids=["german", "soon", "long-ago", "month-13", "risk", "by", "verdict"],
)
def test_term_that_can_match_nothing_is_reported(where, text, problem):
    wrong = DecisionFilter(f"rm {text}")
    assert wrong.problem.startswith(problem)
    assert not any(map(wrong.fits, rows(where)))
    assert DecisionFilter("since: rm by: risk:").problem == ""


def test_terms_with_spaces_match_as_a_whole(where):
    fits = DecisionFilter("", [("rule", "allow $ pytest *")]).fits
    assert {row.headline for row in rows(where) if fits(row)} == {"$ pytest -q tests/test_calc.py"}


@pytest.mark.parametrize("form", ["json", "csv", "md"])
def test_an_export_is_safe_and_says_who_why_and_what(where, form, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "s3cr3t-value-1234")
    keep("s3", "x", *act("z", "note", "HIGH", "rule", HOSTILE, text=f"{HOSTILE} s3cr3t-value-1234"))
    chosen = [*rows_of(session_decisions(where, "s3"), []), *rows_of(session_decisions(where, "s1"), [])]
    lines = list(exported(chosen, form))
    text = "\n".join(lines)
    assert "s3cr3t" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    if form == "json":
        entry = json.loads(lines[5])
        assert entry | {"by": "you", "verdict": "rejected", "asked_by": MODE, "risk": "HIGH"} == entry
        assert entry["arguments"] == {"command": "rm -rf build"}
        assert len(lines) == 8
    elif form == "csv":
        table = list(csv.DictReader(io.StringIO(text)))
        assert (len(table), table[5]["call"], table[5]["by"]) == (8, "$ rm -rf build", "you")
        assert not any(cell.startswith(("=", "+", "@")) for row in table for cell in row.values())
    else:
        assert len(lines) == 10
        assert all(line.replace("\\|", "").count("|") == 8 for line in lines)
        assert "<b>" not in lines[2].rpartition("`")[2]
        assert " [y](" not in lines[2].rpartition("| rule |")[2]
        assert f"| `$ rm -rf build` | HIGH | rejected | you | {MODE} |" in text


def test_a_row_describes_the_decision_in_one_safe_line(where):
    keep("s3", "x", *act("z", "note", "HIGH", "rule", HOSTILE, text=HOSTILE))
    (row,) = rows_of(session_decisions(where, "s3"), [])
    assert "\x1b" not in details_of(row) + row.headline + row.why
    (denied,) = (each for each in rows(where) if DecisionFilter("session:s1 rm").fits(each))
    assert details_of(denied).startswith(f"rejected by you: asked by {MODE} · ▲ HIGH (agent: LOW) · changes files")


@pytest.mark.parametrize(("session", "workspace"), [("s1", "calc"), ("s2", "notes")])
def test_files_are_named_relative_to_the_workspace_of_their_own_session(where, session, workspace):
    (edit,) = (each for each in rows(where) if DecisionFilter(f"session:{session} tool:editor").fits(each))
    assert (edit.directory, edit.headline) == (workspace, "± src/calc.py")


def test_decisions_command_lists_filters_and_exports(sandbox: Sandbox, monkeypatch):
    for name, value in sandbox.env.items():
        monkeypatch.setenv(name, value)
    keep_all_kinds()
    keep_decided("s5", workspace=str(sandbox.project))
    listed = sandbox.ohw("decisions")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert len(listed.stdout.splitlines()) == 7
    assert f"rejected         you   HIGH     $ rm -rf build  (asked by {MODE})" in listed.stdout
    everything = sandbox.command("decisions", "--all")
    assert len(everything.stdout.splitlines()) == 22
    assert "ohw: not read: s9" in everything.stderr
    flags = ("--by", "you", "--risk", "high", "--verdict", "denied", "--tool", "bash", "--since", "2000-01-01")
    assert sandbox.command("decisions", "s1", *flags).stdout.count("\n") == 1
    assert sandbox.command("decisions", "--all", "--limit", "3").stdout.count("\n") == 3
    assert json.loads(sandbox.command("decisions", "--json", "--rule", "allow $ pytest *").stdout)["by"] == "rule"
    assert sandbox.command("decisions", "--words", "nothing").stdout == "No decisions.\n"
    sandbox.command("decisions", "--all", "-o", "all.csv")
    assert len(list(csv.DictReader((sandbox.project / "all.csv").read_text().splitlines()))) == 22
    assert "must end in .json, .csv or .md" in sandbox.command("decisions", "-o", "all.txt").stderr
    assert "give an ID or --all" in sandbox.command("decisions", "--all", "s1").stderr
    assert sandbox.command("decisions", "--all", "--risk", "HIGH", "--by", "You").stdout.count("\n") == 6
    assert sandbox.command("decisions", "--limit", "0").stdout == "No decisions.\n"


@pytest.mark.parametrize(
    "flags",
    [("--since", "soon"), ("--words", "risk:purple"), ("--limit", "-1"), ("--limit", "x"), ("--risk", "purple")],
    ids=["since", "words", "negative", "letter", "risk"],
)
def test_decisions_command_reports_what_it_cannot_filter_by(sandbox: Sandbox, monkeypatch, flags):
    for name, value in sandbox.env.items():
        monkeypatch.setenv(name, value)
    keep_decided("s1")
    done = sandbox.command("decisions", "--all", *flags)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert repr(flags[1].partition(":")[2] or flags[1]) in done.stderr


def test_exports_of_a_session_say_who_allowed_each_action(where):
    with Store.open(session_path(where, "s1"), readonly=True) as store:
        state = Recorded(store).state()
    markdown, page = "\n".join(markdown_of(state)), "\n".join(page_of(RecordedState(state)))
    for words in (
        f"allowed by {MODE}",
        "allowed by rule allow $ pytest *",
        "rejected by you",
        "allowed by you",
        "denied by rule deny $ curl *",
        "allowed by rule read-only tool",
    ):
        assert words in markdown
        assert words.replace('"', "&quot;") in page


def test_plain_mode_says_who_allowed_each_action(where):
    with Store.open(session_path(where, "s1"), readonly=True) as store:
        state = Recorded(store).state()
    lines = [line for item in state.items for line in item_lines(item, state.workspace)]
    for words in (MODE, "rule allow $ pytest *", "you", "rule read-only tool"):
        assert any(line.endswith(f" (allowed by {words})") for line in lines)
    for words in ("rejected by you", "denied by rule deny $ curl *"):
        assert any(line.partition(": ")[2].startswith(words) for line in lines)


def test_narration_of_a_run_says_who_allowed_each_action(where):
    out = io.StringIO()
    narrator = Narrator(out.write)
    with Store.open(session_path(where, "s1"), readonly=True) as store:
        for event in store.events():
            narrator.event(event)
    lines = out.getvalue().splitlines()
    for words in (
        f"allowed by {MODE}",
        "allowed by rule allow $ pytest *",
        "rejected by you",
        "denied by rule deny $ curl *",
    ):
        assert f"  {words}" in lines


def test_narration_of_a_sub_agent_says_who_allowed_each_action():
    out = io.StringIO()
    narrator = Narrator(out.write)
    for verdict, by, rule in (("approved", "mode", MODE), ("rejected", "person", "")):
        decided = ev.ActionDecided(action_id="s:a", verdict=verdict, by=by, rule=rule)
        narrator.event(ev.DelegateStep(action_id="d", agent="scout", session="s", event=decided))
    assert out.getvalue().splitlines() == [f"  scout: allowed by {MODE}", "  scout: rejected by you"]


def test_the_first_rows_of_500_sessions_do_not_wait_for_the_rest(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    where = Locations.from_environment()
    keep_decided("a")
    source = session_path(where, "a").read_bytes()
    for number in range(500):
        session_path(where, f"a{number}").write_bytes(source)
    decisions, sizes, times = DecisionList(where, ""), [], []
    number = decisions.begin(is_all=True)
    begun = time.thread_time()

    def on_batch(batch: list[DecisionRow]) -> None:
        times.append(time.thread_time() - begun)
        sizes.append(len(batch))
        decisions.add(number, batch)

    assert decisions.read(number, on_batch) == []
    assert sizes[0] == 1
    assert times[0] * 20 < times[-1], "the first row comes after a fraction of the whole"
    assert decisions.count == 501 * 7


def test_replaced_reader_stops_and_adds_no_rows(where):
    decisions, batches = DecisionList(where, "s1"), []
    old = decisions.begin(is_all=True)
    new = decisions.begin(is_all=False)
    decisions.read(old, batches.append)
    assert batches == []
    decisions.read(new, batches.append)
    assert not decisions.add(old, batches[0])
    assert all(decisions.add(new, batch) for batch in batches)
    assert (decisions.count, len(decisions.rows)) == (7, 7)
