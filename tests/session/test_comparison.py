"""Where two sessions differ first: their messages, answers and decisions count, but neither paths nor side remarks."""

import json
from pathlib import Path

import pytest

from tests.session.test_forks import go_on, locations, turn, written
from workbench.config.locations import Locations
from workbench.protocol.events import (
    ActionDecided,
    Event,
    ModelResponded,
    RawToolCall,
    Rewound,
    SessionStarted,
    UserMessage,
)
from workbench.session.comparison.steps import FirstDifference, first_difference
from workbench.session.forks import fork_at
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store

__all__ = ["locations"]


def called(**arguments: str) -> ModelResponded:
    call = RawToolCall(id="c", name="execute_bash", arguments=json.dumps(arguments))
    return ModelResponded(response_id="r", model="m", tool_calls=(call,))


def decided(**fields: object) -> ActionDecided:
    return ActionDecided(action_id="c", **{"verdict": "approved", "by": "person", **fields})  # type: ignore[arg-type]


def difference(locations: Locations, one: str, other: str) -> FirstDifference | None:
    paths = [session_path(locations, name) for name in (one, other)]
    with Store.open(paths[0], readonly=True) as first, Store.open(paths[1], readonly=True) as second:
        return first_difference(first, second)


def numbers(result: FirstDifference | None) -> tuple[int, ...]:
    assert result is not None
    return tuple(step.seq if step else 0 for step in (result.one, result.other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (UserMessage(text="go"), UserMessage(text="stop")),
        (ModelResponded(response_id="r", model="m", text="yes"), ModelResponded(response_id="r", model="m", text="no")),
        (called(command="ls"), called(command="ls -l")),
        (decided(), decided(verdict="rejected", note="no")),
        (decided(), decided(verdict="edited", edited={"command": "ls"})),
    ],
    ids=["message", "answer", "call", "verdict", "edited"],
)
def test_first_step_that_differs_is_the_difference(locations: Locations, one: Event, other: Event):
    first = written(locations, "20260101-one", *turn("start"), one, *turn("more"))
    second = written(locations, "20260101-two", *turn("start"), other, *turn("less"))
    assert numbers(difference(locations, first, second)) == (5, 5)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (called(command="ls", summary="List"), called(command="ls", summary="Look around", security_risk="LOW")),
        (decided(), decided(by="mode", rule="never")),
        (
            ModelResponded(response_id="a", model="m", text="ok"),
            ModelResponded(response_id="b", model="n", text="ok\n"),
        ),
    ],
    ids=["side remarks of a call", "who approved", "ids and models"],
)
def test_what_changes_nothing_is_no_difference(locations: Locations, one: Event, other: Event):
    first = written(locations, "20260101-one", *turn("start"), one)
    second = written(locations, "20260101-two", *turn("start"), other)
    assert difference(locations, first, second) is None


def test_paths_of_both_workspaces_count_as_equal(locations: Locations, tmp_path: Path):
    for name in ("one", "two"):
        start = SessionStarted(id=name, workspace=str(tmp_path / name), model="scripted/x", mode="medium")
        with Store.create(session_path(locations, name)) as store:
            store.append(start, UserMessage(text="go"), called(command=f"cat {tmp_path / name}/a.py"))
    assert difference(locations, "one", "two") is None


def test_shorter_session_differs_where_it_ends(locations: Locations):
    first = written(locations, "20260101-one", *turn("start"))
    second = written(locations, "20260101-two", *turn("start"), *turn("more"))
    assert numbers(difference(locations, first, second)) == (0, 5)


def test_steps_behind_a_rewind_do_not_count(locations: Locations):
    first = written(locations, "20260101-one", *turn("start"), *turn("wrong"), Rewound(target=4), *turn("right"))
    second = written(locations, "20260101-two", *turn("start"), *turn("right"))
    assert difference(locations, first, second) is None


def test_forks_of_one_session_differ_from_their_last_common_event_on(locations: Locations):
    parent = written(locations, "20260101-parent", *turn("one"), *turn("two"), *turn("three"))
    short, long = fork_at(locations, parent, 5).id, fork_at(locations, parent, 8).id
    go_on(locations, short, *turn("two"))
    result = difference(locations, short, long)
    assert result is not None
    assert (result.forked_at, numbers(result)) == (4, (6, 5))
    nested = fork_at(locations, long).id
    go_on(locations, nested, *turn("four"))
    result = difference(locations, nested, parent)
    assert result is not None
    assert result.forked_at == 7
