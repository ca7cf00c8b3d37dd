"""A fork at an action that waited for the user keeps the run: the action waits there, in the directory of the fork."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.model_turns import Called, Turn
from tests.session.recording import Recording, approve, bash, differences, edit, go_on
from workbench.errors import UsageError
from workbench.llm.model import Cancel
from workbench.protocol.events import (
    ActionAssessed,
    ActionDecided,
    ActionObserved,
    ActionProposed,
    ActionStarted,
    DelegateStep,
    Event,
    ModelResponded,
    Rewound,
    SessionStarted,
    UserMessage,
)
from workbench.session.fork_point import waiting_point
from workbench.session.forks import Fork, fork_at
from workbench.session.session_factory import OpenedSession
from workbench.session.session_names import session_path
from workbench.session.state import OpenAction
from workbench.session.storage.store import Store
from workbench.session.turn.message_history import messages
from workbench.view.reducer import apply
from workbench.view.state import ActionItem, SessionState


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path)


def events_of(recording: Recording, session: str) -> list[Event]:
    with Store.open(session_path(recording.where, session), readonly=True) as store:
        return list(store.events())


def forked(recording: Recording, event: int) -> Fork:
    return fork_at(recording.where, recording.id, event, "", keeps_run=True)


def number_of(recording: Recording, kind: type[Event], at: int = 0) -> int:
    return [event.seq for event in events_of(recording, recording.id) if isinstance(event, kind)][at]


def leave_waiting(recording: Recording, *turns: Turn) -> None:
    """Run until the first question, and leave it open."""
    with recording.opened([*turns, Turn("Done.")], mode="ask") as opened:
        opened.session.send("go")
        while opened.session.step():
            pass
        assert opened.session.question is not None


def test_waiting_edit_waits_in_the_fork_and_is_asked_about_again_for_its_directory(recording: Recording):
    leave_waiting(recording, edit(command="create", path=str(recording.work / "a.txt"), file_text="new\n"))
    fork = forked(recording, number_of(recording, ActionAssessed))
    assert Path(fork.workspace) != recording.work
    original, recording.id = recording.id, fork.id
    with recording.opened([Turn("Done.")], mode="ask") as opened:
        (before,) = opened.session.questions()
        assert before.proposed.arguments["path"] == f"{fork.workspace}/a.txt"
        approve(opened, before)
        while opened.session.step():
            pass
        (question,) = opened.session.questions()
        assert question.assessed.preview[0].path == f"{fork.workspace}/a.txt"
        assert list(Path(fork.workspace).iterdir()) == []
        go_on(opened, approve)
    assert Path(fork.workspace, "a.txt").read_text() == "new\n"
    assert list(recording.work.iterdir()) == []
    assert not any(isinstance(event, ActionDecided) for event in events_of(recording, original))


def two_commands(recording: Recording) -> Turn:
    commands = (f"echo 1 > {recording.work}/a.txt", f"cat {recording.work}/a.txt > b.txt")
    return Turn(calls=[Called("execute_bash", {"command": each, "security_risk": "LOW"}) for each in commands])


def test_actions_behind_the_waiting_one_run_in_the_directory_of_the_fork(recording: Recording):
    leave_waiting(recording, two_commands(recording))
    recording.id = (fork := forked(recording, number_of(recording, ActionProposed))).id
    with recording.opened([Turn("Done.")], mode="ask") as opened:
        opened.session.open_questions.advance(Cancel(), after_a_run=True)
        go_on(opened, approve)
        assert opened.session.questions() == []
    assert Path(fork.workspace, "b.txt").read_text() == "1\n"
    assert list(recording.work.iterdir()) == []


def approve_all(opened: OpenedSession, question: OpenAction) -> None:
    """Approve everything that waits, before anything runs."""
    for action in opened.session.questions():
        approve(opened, action)


def test_what_was_approved_together_is_open_together_and_named(recording: Recording):
    recording.run(two_commands(recording), mode="ask", decide=approve_all)
    point = forked(recording, number_of(recording, ActionDecided, 1)).point
    first, second = (action.proposed.action_id for action in point.open_actions)
    assert (point.action_id, point.approved) == (second, (first,))
    assert point.target < number_of(recording, ActionDecided)


def test_fork_is_at_the_decision_whichever_event_of_the_action_names_it(recording: Recording):
    recording.run(bash("ls"), bash("echo x > x.txt"), mode="ask")
    decided = number_of(recording, ActionDecided, 1)
    for kind in (ActionProposed, ActionAssessed, ActionDecided, ActionStarted, ActionObserved):
        point = forked(recording, number_of(recording, kind, 1)).point
        assert point.target == decided - 1
        assert [action.arguments["command"] for action in point.open_actions] == ["echo x > x.txt"]


def test_model_gets_one_result_for_each_call_and_learns_where_they_run(recording: Recording):
    leave_waiting(recording, bash("echo x > x.txt"))
    recording.id = forked(recording, number_of(recording, ActionProposed)).id
    with recording.opened([Turn("Done.")], mode="ask") as opened:
        opened.session.open_questions.advance(Cancel(), after_a_run=True)
        go_on(opened, approve)
    history = messages(events_of(recording, recording.id))
    assert [message["role"] for message in history][:5] == ["user", "assistant", "tool", "user", "assistant"]
    assert "Calls whose results follow run there" in history[3]["content"]


def test_screen_shows_the_waiting_action_once_with_the_paths_of_the_fork(recording: Recording):
    leave_waiting(recording, two_commands(recording))
    fork = forked(recording, number_of(recording, ActionProposed))
    state = SessionState()
    for event in events_of(recording, fork.id):
        apply(state, event)
    actions = [item for item in state.items if isinstance(item, ActionItem)]
    assert [item.arguments["command"].split(" > ")[0] for item in actions] == ["echo 1", f"cat {fork.workspace}/a.txt"]
    assert state.waiting == [item.action_id for item in actions]
    assert state.is_running


def test_fork_that_ends_the_run_shows_no_action_as_waiting(recording: Recording):
    leave_waiting(recording, two_commands(recording))
    state = SessionState()
    for event in events_of(recording, fork_at(recording.where, recording.id).id):
        apply(state, event)
    assert (state.waiting, state.is_running) == ([], False)
    assert {item.phase for item in state.items if isinstance(item, ActionItem)} == {"skipped"}


def test_kept_run_replays_as_recorded(recording: Recording):
    leave_waiting(recording, two_commands(recording))
    recording.id = forked(recording, number_of(recording, ActionProposed)).id
    with recording.opened([Turn("Done.")], mode="ask") as opened:
        opened.session.open_questions.advance(Cancel(), after_a_run=True)
        go_on(opened, approve)
    result = recording.replayed()
    assert (result.ran, differences(result)) == (2, [])


A, B = (ActionProposed(action_id=name, response_id="r", call_id=name, tool="execute_bash") for name in "ab")
ANSWER = ModelResponded(response_id="r", model="m", text="")


def asked(name: str, **fields: bool) -> ActionAssessed:
    return ActionAssessed(action_id=name, risk="MEDIUM", **{"needs_decision": True, **fields})


def by_user(name: str) -> ActionDecided:
    return ActionDecided(action_id=name, verdict="approved", by="person")


def written(directory: Path, *events: Event) -> Store:
    store = Store.create(directory / "20260101-made.session")
    store.append(SessionStarted(id="20260101-made", workspace="/w", model="scripted/x", mode="ask"), *events)
    return store


BESIDE = (UserMessage(text="go"), ANSWER, A, B, asked("a"), by_user("a"), ActionStarted(action_id="a"), asked("b"))
STEP = DelegateStep(action_id="a", agent="reviewer", session="s", event=by_user("b"))
ALLOWED = ActionDecided(action_id="a", verdict="approved", by="mode")


@pytest.mark.parametrize(
    ("events", "number", "reason"),
    [
        ((UserMessage(text="go"),), 2, "is of no action that waited for approval; none of this session did"),
        ((UserMessage(text="go"),), 9, "there is no event 9 in this session; it has 2"),
        ((UserMessage(text="go"), ANSWER, A, asked("a", needs_decision=False), ALLOWED), 4, "none of this session did"),
        (BESIDE[:5], 2, "those that did: 6"),
        (BESIDE, 9, "event 9: other actions ran for as long as this one waited"),
        ((UserMessage(text="go"), ANSWER, A, STEP), 5, "event 5 is of a sub-agent"),
        ((UserMessage(text="go"), ANSWER, A, asked("a", needs_answer=True)), 5, "event 5 is a question of the agent"),
    ],
)
def test_event_that_is_no_waiting_action_is_refused(tmp_path: Path, events, number, reason):
    with written(tmp_path, *events) as store, pytest.raises(UsageError, match=reason):
        waiting_point(store, number)


@pytest.mark.parametrize(("decision", "approved"), [(by_user("a"), ("a",)), (ALLOWED, ())])
def test_only_what_the_user_approved_is_named_as_approved(tmp_path: Path, decision: Event, approved: tuple[str, ...]):
    with written(tmp_path, *BESIDE[:5], asked("b"), decision, by_user("b")) as store:
        point = waiting_point(store, 9)
    assert (point.target, point.action_id, point.approved) == (7, "b", approved)


def test_action_that_a_rewind_took_back_can_be_decided_in_a_fork(tmp_path: Path):
    with written(tmp_path, *BESIDE[:5], Rewound(target=1), UserMessage(text="other")) as store:
        point = waiting_point(store, 6)
    assert (point.target, point.action_id) == (6, "a")
