"""Files that sub-agents change: wherever an action's changes are shown and undone, theirs are, as after a command."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.sandbox import bash, finish, wait_for
from tests.session.outside_agents import OutsidePlace
from tests.session.test_outside_agents import ask, ended
from tests.session.test_subagents import Place
from workbench.llm.model import Cancel
from workbench.protocol.events import FilesChanged, VersionTaken
from workbench.session.blame.blame import blame_file
from workbench.session.blame.origins import origins_of
from workbench.session.rewind.checkpoints import checkpoints_of
from workbench.session.session_names import session_path
from workbench.session.storage.store import Store
from workbench.session.workspace.revert import RevertError
from workbench.view.reducer import apply
from workbench.view.state import SessionState
from workbench.view.transcript.markdown import markdown_of


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[OutsidePlace]:
    made = OutsidePlace(tmp_path)
    yield made
    made.close()


def settled(place: Place) -> None:
    """Wait for the end of the run and of its snapshots."""
    place.join()
    assert place.opened.session.files._recorder.wait(Cancel(), 30)


def seen(place: Place) -> SessionState:
    """Return what a front end shows of the session."""
    state = SessionState()
    for event in place.log():
        apply(state, event)
    return state


def changes(place: Place) -> dict[str, list[str]]:
    """Return the files that each action changed, by the headline of the action: its command, title or task."""
    names = ("command", "title", "inputs")
    return {
        next(str(item.arguments[name]) for name in names if name in item.arguments): [
            Path(file.path).name for file in item.files
        ]
        for item in seen(place).actions.values()
        if item.files
    }


def elsewhere(place: Place) -> list[str]:
    files = [event.files for event in place.log() if isinstance(event, FilesChanged) and event.by == "other"]
    return [Path(file.path).name for group in files for file in group]


def report(title: str, *steps: dict[str, Any], number: str = "r1") -> list[dict[str, Any]]:
    """Return the steps of a call that the agent makes without asking."""
    start = {"call": {"toolCallId": number, "title": title, "kind": "execute"}}
    return [{"shell": "sleep 0.3"}, start, *steps, ended(number), {"shell": "sleep 0.5"}]


def test_what_the_command_of_a_sub_agent_changes_is_its_change(place):
    work = [bash("echo one > one", risk="MEDIUM"), bash("echo two > two; rm one", risk="MEDIUM"), finish("Written.")]
    place.start({"writer": work})
    settled(place)
    assert changes(place) == {"echo one > one": ["one"], "echo two > two; rm one": ["one", "two"]}
    assert elsewhere(place) == []
    assert {file.path: file.by for file in seen(place).changes.values()} == {str(place.directory / "two"): {"agent"}}
    assert "+two" in "".join(markdown_of(seen(place)))


def test_what_a_program_changes_in_a_call_is_the_change_of_that_call(outside):
    asked = [ask(rawInput={"command": "rm -rf build"}), {"shell": "touch asked", "if_allowed": True}, ended()]
    steps = [*report("Write", {"shell": "touch reported"}), *asked, {"shell": "sleep 0.5; touch unreported"}]
    outside.play([*steps, {"say": "Fine."}], mode="never")
    settled(outside)
    assert changes(outside) == {
        "Write": ["reported"],
        "rm -rf build": ["asked"],
        "helper, do your part.": ["unreported"],
    }
    assert elsewhere(outside) == []


def test_what_the_user_changes_while_a_program_waits_for_an_answer_is_not_its_change(outside):
    question = [
        ask(rawInput={"command": "rm -rf build"}),
        {"shell": "sleep 0.5; touch allowed", "if_allowed": True},
        ended(),
    ]
    outside.play([{"shell": "touch before"}, *question, {"say": "Fine."}], mode="medium")
    outside.approve_start()
    waiting = outside.question_about("execute_bash")
    wait_for(lambda: any(isinstance(each, VersionTaken) and each.files for each in outside.events), "the first change")
    (outside.directory / "mine").touch()
    time.sleep(0.2)  # so that the times of the files differ
    outside.answer(waiting, "approved")
    settled(outside)
    assert changes(outside) == {"helper, do your part.": ["before"], "rm -rf build": ["allowed"]}
    assert elsewhere(outside) == ["mine"]


@pytest.mark.parametrize("reacts", [True, False], ids=["reacts", "killed"])
def test_what_a_stopped_program_has_changed_is_its_change(outside, reacts):
    outside.play([{"shell": "touch made"}, {"until_canceled": reacts}], mode="never")
    wait_for((outside.directory / "made").exists, "its change")
    outside.opened.session.interrupt()
    settled(outside)
    assert changes(outside) == {"helper, do your part.": ["made"]}
    assert elsewhere(outside) == []


def test_what_a_program_changes_when_its_question_is_withdrawn_is_its_change(outside):
    steps = [ask(rawInput={"command": "rm -rf ~/x"}), {"shell": "touch late"}, {"until_canceled": False}]
    outside.play(steps, mode="high")
    outside.approve_start()
    outside.question_about("execute_bash")
    outside.opened.session.interrupt()
    settled(outside)
    assert changes(outside) == {"helper, do your part.": ["late"]}
    assert elsewhere(outside) == []


def test_nothing_that_sub_agents_do_side_by_side_is_called_somebody_elses(place):
    slow = [bash("for n in 1 2 3 4; do touch slow$n; sleep 0.2; done", risk="MEDIUM"), finish("Slow.")]
    quick = [bash("sleep 0.3; touch quick", risk="MEDIUM"), finish("Quick.")]
    place.start({"left": slow, "right": quick})
    settled(place)
    assert elsewhere(place) == []
    assert sorted(name for names in changes(place).values() for name in names) == [
        *("quick", "slow1", "slow2", "slow3", "slow4")
    ]


def test_changes_of_sub_agents_are_taken_back_with_the_call_and_return_with_it(outside):
    notes = outside.directory / "notes"
    notes.write_text("old\n")
    outside.play([*report("Write", {"shell": "echo new > notes"}), {"say": "Fine."}], mode="never")
    settled(outside)
    with Store.open(session_path(outside.where, outside.id), readonly=True) as store:
        points = checkpoints_of(store)
    named = [(each.kind, [Path(path).name for path in each.files]) for each in points]
    assert named == [("message", ["notes"]), ("action", ["notes"])]
    outside.opened.session.rewinder.rewind(points[0].target)
    assert notes.read_text() == "old\n"
    outside.opened.session.rewinder.rewind(points[1].target)
    assert notes.read_text() == "new\n"


def test_lines_of_sub_agents_are_blamed_on_them(outside):
    outside.play([*report("Write it", {"shell": "echo new > notes"}), {"say": "Fine."}], mode="never")
    settled(outside)
    blame = blame_file(outside.where, outside.directory, "notes")
    (writer,) = {line.writer for line in blame.lines}
    origin = origins_of(outside.where, [writer])[writer]
    assert (origin.agent, origin.call.arguments["title"]) == ("helper", "Write it")


def test_no_file_is_reverted_while_a_sub_agent_may_write(outside):
    outside.play(
        [{"shell": "echo new > notes"}, ask(rawInput={"command": "rm -rf ~/x"}), {"until_canceled": True}], mode="high"
    )
    outside.approve_start()
    waiting = outside.question_about("execute_bash")
    taken = wait_for(lambda: [each for each in outside.events if isinstance(each, VersionTaken) and each.files], "it")
    undone = [replace(file, before=file.after, after=file.before) for file in taken[0].files]
    outside.answer(waiting, "rejected")
    wait_for(lambda: outside.said("answer"), "the answer")
    with pytest.raises(RevertError, match="an action that may write files runs now"):
        outside.opened.session.files.revert(undone)
    outside.opened.session.interrupt()
    settled(outside)
    outside.opened.session.files.revert(undone)
    assert not (outside.directory / "notes").exists()


def test_files_that_a_sub_agent_deletes_are_in_one_copy(place):
    (place.directory / "old").write_text("old\n")
    place.start({"writer": [bash("rm old", risk="MEDIUM"), finish("Deleted.")]})
    settled(place)
    (item,) = [each for each in seen(place).actions.values() if each.files]
    (copy,) = place.opened.session.files._copies.survey.copies.all()
    assert item.copy_id == copy.id
