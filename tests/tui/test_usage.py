"""The Usage page: what it counts in each scope, and what it shows where prices or tokens are unknown."""

from datetime import timedelta

import pytest

from tests.tui.app_driver import wait_until, workbench_app
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import text_on
from tests.tui.sample_session import START, Script, fold
from tests.tui.session_files import keep
from tests.tui.usage_files import call, keep_spent
from workbench.config.locations import Locations
from workbench.protocol import events as ev
from workbench.protocol.usage import ContextParts, Usage
from workbench.tui.screens.usage import UsageScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.tui.widgets.status_line import StatusLine
from workbench.view import clock
from workbench.view.state import SessionState
from workbench.view.stats import SCOPES, Scope, read_usage
from workbench.view.usage import UsageLimits, percent, tokens, usage_page
from workbench.view.wrapping import line_width

PARTS = ContextParts(system=1_000, tools=4_000, messages=8_000, files=2_000, tool_output=35_000)


@pytest.fixture(autouse=True)
def _own_directories(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(clock, "now", lambda: START + timedelta(hours=1))


def spent(**more) -> Script:
    script = Script().start().user("Fix unknown countries")
    usage = Usage(input=50_000, output=200, cached=30_000, window=200_000)
    return script.answer("Hello.", **{"usage": usage, "cost": 0.25, "parts": PARTS, **more})


def page(
    scope: Scope, state: SessionState | None = None, width: int = 100, *, max_cost: float = 0.0, name: str = "s1"
) -> str:
    stats = read_usage(Locations.from_environment(), scope, name)
    limits = UsageLimits(max_cost, 80, 30_000, "x")
    lines = usage_page(stats, scope, state or fold(spent().events), width, limits)
    assert all(line_width(line) <= width for line in lines)
    return "\n".join("".join(piece.text for piece in line) for line in lines)


@pytest.mark.parametrize(
    ("scope", "cost", "calls"), [("session", 0.4, 5), ("today", 0.4, 5), ("week", 1.9, 6), ("all", 1.9, 7)]
)
def test_each_scope_counts_every_call_once(scope, cost, calls):
    keep_spent()
    read = read_usage(Locations.from_environment(), scope, "s1").calls
    assert len(read) == calls
    assert sum(each.cost or 0 for each in read) == pytest.approx(cost)


def test_calls_of_condensations_and_tools_count_too():
    usage = Usage(input=1_000, output=10)
    keep(
        "s1",
        "Fix it",
        ev.HistoryCondensed(first=2, last=3, summary="x", model="m", usage=usage, cost=0.5),
        ev.ModelAsked(action_id="a", model="m", usage=usage, cost=0.25),
    )
    assert [each.cost for each in read_usage(Locations.from_environment(), "session", "s1").calls] == [0.5, 0.25]


def test_session_page_shows_models_messages_context_and_limit():
    keep_spent()
    state = fold(spent().user("And now the tests").events)
    shown = page("session", state, max_cost=2)
    assert "$0.40    200k in (75% cached) · 3k out · 5 calls · 60s" in shown
    assert "limit of a run $2.00  ■■──────────  12%" in shown
    assert "50k of 200k" in shown
    assert "25%  compacts at 80%" in shown
    assert [line.rstrip() for line in shown.splitlines()[-7:]] == [
        "By model",
        "  claude-sonnet-4-5                        $0.39    160k in     2k out   4 calls",
        "  gpt-5-mini (sub-agents)                  $0.01     40k in    600 out    1 call",
        "",
        "By turn",
        "  1  Fix unknown countries                 $0.09     80k in     1k out   2 calls",
        "  2  And now the tests                     $0.31    120k in     2k out   3 calls",
    ]
    assert "  system 1k ▏ 2%   tools 4k ▎ 8%   messages 8k ▌ 16%   files 2k ▏ 4%   tool output 35k ██▏ 70%" in shown


def test_parts_of_the_context_are_wrapped_between_each_other():
    keep_spent()
    shown = page("session", width=40).splitlines()
    at = shown.index(next(line for line in shown if line.startswith("  system")))
    assert [line.rstrip() for line in shown[at : at + 3]] == [
        "  system 1k ▏ 2%   tools 4k ▎ 8%",
        "  messages 8k ▌ 16%   files 2k ▏ 4%",
        "  tool output 35k ██▏ 70%",
    ]


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ({"cached": 30_000}, "40k in (75% cached) ·"),
        ({"cached": 30_000, "written": 8_000}, "40k in (75% cached, 20% written to the cache) ·"),
        ({"cached": 0, "written": 8_000}, "40k in (20% written to the cache) ·"),
        ({"cached": None, "written": None}, "40k in ·"),
    ],
)
def test_page_shows_how_much_was_read_from_the_cache_and_written_to_it(counts, shown):
    keep("s1", "Hi", call(**counts))
    assert shown in page("session")


def test_all_sessions_are_shown_by_day_and_by_session():
    keep_spent()
    shown = page("all")
    days = shown.partition("By day")[2].partition("By session")[0].split()
    assert [word for word in days if word.startswith("202")] == ["2025-01-25", "2026-02-24", "2026-03-01"]
    sessions = shown.partition("By session")[2].splitlines()[1:]
    titles = [line.partition("  ")[2].partition("  ")[0] for line in sessions]
    assert titles == ["Plan the release", "Fix unknown countries", "An older one"]  # the most expensive first
    assert "Price unknown for 1 call." in shown
    assert "By turn" not in shown


def test_sessions_with_the_same_title_have_their_ids_too():
    for name in ("s1", "s2"):
        keep(name, "Fix it", call(0.1))
    sessions = page("all").partition("By session")[2].splitlines()[1:]
    assert sorted(line.split("  ")[1] for line in sessions) == ["s1 · Fix it", "s2 · Fix it"]


def test_biggest_output_in_the_context_is_named():
    script = spent()
    for number, size in enumerate((400, 90_000, 100, 20_000, 8_000)):
        script.end(script.begin("execute_bash", command=f"cat big{number}"), "x" * size)
    keep_spent()
    (row,) = [line.strip() for line in page("session", fold(script.events)).splitlines() if "#" in line]
    assert row == "biggest: #2 cat big1  8k   x Drop", "the model got only the first 30,000 characters"


def test_small_outputs_are_not_offered_for_dropping():
    script = spent()
    script.end(script.begin("execute_bash", command="cat small"), "x" * 399)
    assert "biggest" not in page("session", fold(script.events))


def test_many_turns_show_their_prices_alone():
    keep("s1", "Hi", *(call(turn / 100, turn=turn) for turn in range(1, 81)))
    lines = page("session").partition("By turn")[2].splitlines()
    assert lines[0].startswith("    21 ▄ $0.21   22 ▄ $0.22   23 ▄ $0.23")
    assert lines[-2].endswith("79 █ $0.79   80 █ $0.80")
    assert lines[-1].strip() == "and 20 more"
    assert len(lines) == 10


def test_most_expensive_of_many_turns_is_named():
    keep("s1", "Hi", *(call(turn / 100, turn=turn) for turn in range(1, 9)))
    script = spent()
    for number in range(2, 9):
        script.user(f"Message {number}")
    assert "most expensive: turn 8  Message 8" in page("session", fold(script.events))


def test_turns_without_a_price_show_their_tokens():
    keep("s1", "Hi", *(call(None, "local/llama", turn, input=turn * 10_000) for turn in range(1, 4)))
    rows = page("session", width=112).partition("By turn")[2].splitlines()[1:]
    assert [row.split()[:1] + row.split()[-7:-1] for row in rows][1:] == [
        ["2", "20k", "in", "600", "out", "1", "call"],
        ["3", "30k", "in", "600", "out", "1", "call"],
    ]
    assert rows[2].count("■") == 24
    keep("s2", "Hi", *(call(None, "local/llama", turn, input=turn * 10_000) for turn in range(1, 9)))
    assert "1 ▃ 11k   2 ▄ 21k" in page("session", name="s2")


def test_unknown_values_are_shown_as_unknown():
    keep("s1", "Hi", call(None, input=None, output=None, cached=None))
    state = fold(spent(cost=None, usage=Usage(), parts=None).events)
    shown = page("session", state)
    assert "unknown  0 in · 0 out · 1 call" in shown
    assert "Price unknown for this model." in shown
    assert "appears after the first response" in shown
    assert "$" not in shown


@pytest.mark.parametrize("scope", list(SCOPES))
def test_without_calls_the_page_says_so(scope):
    assert "No model was called." in page(scope)


@pytest.mark.parametrize("width", [20, 36, 60, 76, 112, 196])
def test_every_width_is_kept(width):
    keep("s1", "x" * 300, call(1234.5, "m" * 90), call(0.001, "模型" * 40))
    assert all("By model" in page(scope, width=width, max_cost=2) for scope in ("session", "all"))


def test_numbers_are_short():
    assert [tokens(each) for each in (0, 999, 1_000, 61_900, 999_499, 999_500)] == [
        "0",
        "999",
        "1k",
        "62k",
        "999k",
        "1.0M",
    ]
    assert [percent(1, 3), percent(0, 0)] == ["33%", "0%"]


@pytest.mark.parametrize("how", ["/cost", "/usage", "click"])
async def test_page_opens_by_command_and_by_a_click_and_tab_changes_the_scope(how):
    keep_spent()
    client = FakeClient(spent().events)
    async with workbench_app(client).run_test(size=(120, 30)) as pilot:
        app = pilot.app
        await wait_until(pilot, lambda: "25" in app.screen.query_one(StatusLine).render().plain)
        if how == "click":
            await pilot.click(StatusLine)
        else:
            app.screen.query_one(Prompt).text = how
            await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, UsageScreen) and "By turn" in text_on(app))
        for words in ("1 calls", "By day", "By session", "By turn"):
            await pilot.press("tab")
            await wait_until(pilot, lambda words=words: words.removeprefix("1 ") in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: len(app.screen_stack) == 1)
        assert not app.query(UsageScreen)


async def test_x_drops_the_biggest_output_and_the_page_follows():
    keep_spent()
    script = spent()
    for number, size in enumerate((8_000, 20_000)):
        script.end(script.begin("execute_bash", command=f"cat big{number}"), "x" * size)
    client = FakeClient(script.events)
    app = workbench_app(client)
    async with app.run_test(size=(120, 40)) as pilot:
        await wait_until(pilot, lambda: app.state.actions)
        app.screen.query_one(Prompt).text = "/cost"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "#2 cat big1" in text_on(app))
        largest = next(item.action_id for item in app.state.actions.values() if "big1" in str(item.arguments))
        await pilot.press("x")
        await wait_until(pilot, lambda: ("drop", largest) in client.commands)
        client.bring(ev.OutputDropped(seq=len(script.events) + 1, action_id=largest, characters=19_000))
        await wait_until(pilot, lambda: "#2 cat big1" not in text_on(app) and "#1 cat big0" in text_on(app))
        assert "45k of 200k" in text_on(app)
        await pilot.press("tab", "x")
        await pilot.pause()
        assert client.commands.count(("drop", largest)) == 1
        assert not any(command[0] == "drop" and command[1] != largest for command in client.commands)
