"""The screens of a rewind: the checkpoints and their filter, Esc twice, the preview, and reading the session again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from tests.tui.app_driver import wait_until
from tests.tui.fake_client import FakeClient
from tests.tui.pictures import app_with, show_events, text_on
from tests.tui.sample_session import WORKSPACE, Script
from workbench.client.client import CommandRefused
from workbench.protocol import events as ev
from workbench.protocol import live
from workbench.protocol.rewind import RewoundFile
from workbench.session.storage.paging import Branch
from workbench.session.storage.store import Store
from workbench.tui.screens.rewind import RewindPreviewScreen, RewindScreen
from workbench.tui.widgets.prompt import Prompt
from workbench.view.rewind import CheckpointRow, checkpoint_row, preview_rows, read_checkpoints
from workbench.view.wrapping import line_width

AT = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ROWS = [
    CheckpointRow(2, 1, AT, "fix the parser", "fix the parser", files=("src/parse.py",), added=3, removed=1, cost=0.02),
    CheckpointRow(6, 6, AT, "$ rm old.txt", is_action=True, action_id="a1", files=("old.txt",), removed=9),
    CheckpointRow(9, 8, AT, "now the docs", "now the docs\nall of them", cost=None),
    CheckpointRow(20, 19, AT, "back to event 18: the docs"),
]
REWOUND = ev.Rewound(
    target=8,
    files=(
        RewoundFile(path="src/parse.py", before="b1", after="b2"),
        RewoundFile(path="old.txt", before="", after="b3"),
    ),
    conflicts=("README.md",),
    not_covered=("/elsewhere/big.bin",),
)
DELTAS = (ev.FileDelta(path=f"{WORKSPACE}/src/parse.py", before="one\n", after="two\n"),)


def two_turns() -> Script:
    script = Script().start().user("fix the parser").answer("Parsed.")
    script.add(ev.RunEnded, reason="finished")
    script.user("now the docs").answer("Documented.")
    script.add(ev.RunEnded, reason="finished")
    return script


@pytest.fixture
def checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that the list shows, in place of those of a session file."""
    monkeypatch.setattr("workbench.view.rewind.read_checkpoints", lambda path: ROWS)


async def opened(pilot: Any, app: Any) -> RewindScreen:
    await pilot.press(*"/rewind", "enter")
    await wait_until(pilot, lambda: isinstance(app.screen, RewindScreen) and "4 checkpoints" in text_on(app))
    return app.screen


async def previewed(pilot: Any, client: FakeClient, app: Any) -> None:
    """Open the preview of the second message, and answer its question like an engine."""
    await opened(pilot, app)
    await pilot.press(*"docs", "up", "enter")
    await wait_until(pilot, lambda: isinstance(app.screen, RewindPreviewScreen))
    assert client.commands[-1] == ("preview", 8, "both")
    client.bring(live.RewindReady(rewound=REWOUND, deltas=DELTAS))
    await wait_until(pilot, lambda: "README.md" in text_on(app))


async def test_escape_twice_on_an_empty_prompt_opens_the_checkpoints(checkpoints, directory):
    events = two_turns().events
    client, app = app_with(events, directory, "ohw-dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await show_events(pilot, client, events)
        await pilot.press("x", "escape", "escape")
        assert not isinstance(app.screen, RewindScreen), "the prompt has text"
        await pilot.press("backspace", "escape", "escape")
        await wait_until(pilot, lambda: isinstance(app.screen, RewindScreen))
        assert client.commands == []


async def test_typing_filters_by_text_and_file(checkpoints, directory):
    events = two_turns().events
    client, app = app_with(events, directory, "ohw-dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await show_events(pilot, client, events)
        await opened(pilot, app)
        await pilot.press(*"parse.py")
        await wait_until(pilot, lambda: "1 of 4 checkpoints" in text_on(app))
        assert "now the docs" not in text_on(app)
        await pilot.press("escape")
        await wait_until(pilot, lambda: "4 checkpoints" in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: not isinstance(app.screen, RewindScreen))
        assert client.commands == []


@pytest.mark.parametrize(
    ("keys", "command"),
    [
        (["enter"], ("rewind", 8, "both")),
        (["c"], ("rewind", 8, "conversation")),
        (["f"], ("rewind", 8, "files")),
    ],
)
async def test_keys_of_the_preview_choose_what_moves(keys, command, checkpoints, directory):
    events = two_turns().events
    client, app = app_with(events, directory, "ohw-dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await show_events(pilot, client, events)
        await previewed(pilot, client, app)
        await pilot.press(*keys)
        await wait_until(pilot, lambda: client.commands[-1][0] == "rewind")
        assert client.commands[-1] == command


async def test_enter_does_nothing_before_the_preview_is_there(checkpoints, directory):
    events = two_turns().events
    client, app = app_with(events, directory, "ohw-dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await show_events(pilot, client, events)
        await opened(pilot, app)
        await pilot.press("up", "enter", "enter", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, RewindPreviewScreen))
        await pilot.press("enter")
        assert [command[0] for command in client.commands] == ["preview"]


async def test_refused_preview_says_why(checkpoints, directory):
    events = two_turns().events
    client, app = app_with(events, directory, "ohw-dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await show_events(pilot, client, events)
        await opened(pilot, app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, RewindPreviewScreen))
        client.bring(CommandRefused("the agent is busy elsewhere"))
        await wait_until(pilot, lambda: "the agent is busy elsewhere" in text_on(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: isinstance(app.screen, RewindScreen))
        assert [command[0] for command in client.commands] == ["preview"]


async def test_conversation_moves_without_a_preview_of_the_files(checkpoints, directory):
    events = two_turns().events
    client, app = app_with(events, directory, "ohw-dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await show_events(pilot, client, events)
        await opened(pilot, app)
        await pilot.press(*"docs", "up", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, RewindPreviewScreen))
        client.bring(CommandRefused("there are no snapshots, so only the conversation can be moved"))
        await wait_until(pilot, lambda: "only the conversation can be moved" in text_on(app))
        await pilot.press("enter", "f")
        assert client.commands[-1] == ("preview", 8, "both")
        await pilot.press("c")
        await wait_until(pilot, lambda: client.commands[-1] == ("rewind", 8, "conversation"))


async def test_cursor_stays_on_the_conflict_that_was_chosen(checkpoints, directory):
    events = two_turns().events
    client, app = app_with(events, directory, "ohw-dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await show_events(pilot, client, events)
        await previewed(pilot, client, app)
        await pilot.press("down", "down", "space")
        await wait_until(pilot, lambda: client.commands[-1] == ("preview", 8, "both", "README.md"))
        chosen = RewoundFile(path="README.md", before="b1", after="b2")
        client.bring(live.RewindReady(rewound=replace(REWOUND, files=(chosen, *REWOUND.files), conflicts=())))
        await wait_until(pilot, lambda: "your lines are lost" in text_on(app))
        await pilot.press("space")
        await wait_until(pilot, lambda: len(client.commands) == 3)
        assert client.commands[-1] == ("preview", 8, "both")


async def test_draft_is_there_again_after_a_rewind_is_undone(checkpoints, directory):
    events = two_turns().events
    client, app = app_with(events, directory, "ohw-dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await show_events(pilot, client, events)
        await previewed(pilot, client, app)
        prompt = app.screen_stack[-2].query_one(Prompt)
        prompt.load_text("my draft")
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands[-1][0] == "rewind")
        last = events[-1].seq
        rewound = replace(REWOUND, seq=last + 1, target=4)
        client.forget_history([*events[:4], Branch(5, last, 1, 0), rewound])
        client.bring(rewound)
        await wait_until(pilot, lambda: prompt.text == "now the docs\nall of them\nmy draft")
        again = replace(REWOUND, seq=last + 2, target=last)
        client.forget_history([*events, again])
        client.bring(again)
        await wait_until(pilot, lambda: "now the docs" not in prompt.text)
        assert prompt.text == "my draft"


@pytest.mark.parametrize("goes_on", [False, True])
async def test_redo_shows_a_preview_if_it_would_undo_what_came_after(goes_on, directory, tmp_path, monkeypatch):
    with Store.create(tmp_path / "one.ohw") as store:
        store.append(
            ev.SessionStarted(id="s1", workspace="/work", model="m", mode="ask"),
            *(ev.UserMessage(text="one"), ev.RunEnded(reason="finished"), ev.Rewound(target=1)),
            *([ev.UserMessage(text="two"), ev.RunEnded(reason="finished")] if goes_on else []),
        )
    monkeypatch.setattr("workbench.view.app_session.AppSession.file_of", lambda *names: tmp_path / "one.ohw")
    events = two_turns().events
    client, app = app_with(events, directory, "ohw-dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await show_events(pilot, client, events)
        await pilot.press(*"/redo", "enter")
        await wait_until(pilot, lambda: bool(client.commands))
        assert client.commands == [("preview", 3, "both") if goes_on else ("rewind", 3, "both")]
        assert isinstance(app.screen, RewindPreviewScreen) == goes_on


async def test_session_is_read_again_after_a_rewind_and_the_message_returns(checkpoints, directory):
    events = two_turns().events
    client, app = app_with(events, directory, "ohw-dark")
    async with app.run_test(size=(100, 30)) as pilot:
        await show_events(pilot, client, events)
        await previewed(pilot, client, app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: client.commands[-1][0] == "rewind")
        last = events[-1].seq
        rewound = replace(REWOUND, seq=last + 1, target=4)
        client.forget_history([*events[:4], Branch(5, last, 1, 0), rewound])
        client.bring(rewound)
        await wait_until(pilot, lambda: "Undone by a rewind: 1 message" in text_on(app))
        prompt = app.screen.query_one(Prompt)
        await wait_until(pilot, lambda: prompt.text == "now the docs\nall of them")
        assert "Documented." not in text_on(app)
        assert [item.seq for item in app.state.items] == sorted(item.seq for item in app.state.items)


def test_rows_fit_every_width():
    for width in range(12, 160):
        assert {line_width(checkpoint_row(row, width, AT)) for row in ROWS} == {width}


def test_preview_names_every_file_and_why_it_is_kept():
    rows = [(row.verb, row.path, row.note) for row in preview_rows(REWOUND, WORKSPACE, DELTAS, ["src/parse.py"])]
    assert rows == [
        ("write", "src/parse.py", "your lines are lost"),
        ("create", "old.txt", ""),
        ("keep", "README.md", "you changed the same lines"),
        ("keep", "/elsewhere/big.bin", "not in the file versions"),
    ]
    assert preview_rows(REWOUND, WORKSPACE, DELTAS)[0].lines == (1, 1)


def test_preview_tells_files_of_the_same_name_apart():
    files = tuple(RewoundFile(path=path, before="b1", after="b2") for path in ("a/z.txt", "z.txt", "z.txt/z.txt"))
    deltas = (
        ev.FileDelta(path="/project/a/z.txt", before="", after="1\n"),
        ev.FileDelta(path="/project/z.txt", before="", after="1\n2\n"),
    )
    rows = preview_rows(ev.Rewound(target=1, files=files), "/project", deltas)
    assert [row.lines for row in rows] == [(1, 0), (2, 0), (0, 0)]


def test_costs_and_files_of_checkpoints_are_those_of_their_part_of_the_session(tmp_path):
    def delta(before: str | None, after: str | None) -> ev.FileDelta:
        return ev.FileDelta(path="/w/a", before=before, after=after)

    def answer(cost: float | None) -> ev.ModelResponded:
        return ev.ModelResponded(response_id="r", model="m", cost=cost)

    def action(name: str, change: ev.FileDelta) -> tuple[Any, ...]:
        call = ev.ActionProposed(action_id=name, response_id="r", call_id=name, tool="note", summary=f"Do {name}")
        return call, ev.ActionObserved(action_id=name, observation={}, files_changed=(change,))

    with Store.create(tmp_path / "costs.ohw") as store:
        store.append(
            ev.SessionStarted(id="costs", workspace="/w", model="m", mode="ask"),
            ev.UserMessage(text="one"),
            *(answer(0.5), *action("a1", delta(None, "1\n")), answer(0.25), *action("a2", delta("1\n", "1\n2\n"))),
            ev.UserMessage(text="two"),
            answer(None),
        )
    one, first, second, two = read_checkpoints(tmp_path / "costs.ohw")
    assert (one.cost, first.cost, second.cost, two.cost) == (0.75, 0.5, 0.25, None)
    assert [(row.added, row.removed) for row in (one, first, second)] == [(2, 0), (1, 0), (1, 0)]
    assert (first.text, second.action_id) == ("Do a1", "a2")
