"""Several calls in one answer: their questions are open together, each is decided alone and stays up to date."""

from pathlib import Path

import pytest

from tests.session.fake_agent import Harness, calls, faults_of, says
from tests.session.test_recovery import undecided_starts
from workbench.protocol.events import FileText
from workbench.session.actions.decide import AlwaysRule
from workbench.session.session import CommandError
from workbench.tools import BashTool, FileEditorTool
from workbench.tools.tool import ToolDefinition
from workbench.view.reducer import apply
from workbench.view.state import NoticeItem, SessionState


def note(text: str, risk: str = "HIGH") -> tuple:
    return ("note", {"text": text}, risk)


THREE = (note("one"), note("two"), note("three"))


def went(harness, *script, **more) -> Harness:
    """Return a session that has run on a message of the user until it waits."""
    d = harness(*script, **more)
    d.session.send("go")
    d.run()
    return d


def asked(d: Harness) -> list[str]:
    return [action.arguments.get("text", action.arguments.get("command", "")) for action in d.waiting()]


def offers(d: Harness) -> list[str]:
    return [event.text for event in d.live if event.kind == "notice"]


def results(d: Harness) -> list[str]:
    return [m["content"].splitlines()[0] for m in d.agent.requests[-1] if m["role"] == "tool"]


def test_all_questions_of_a_batch_open_at_once_and_allowed_actions_wait_their_turn(harness):
    d = went(harness, calls(note("zero", "LOW"), *THREE[:2], ("look", {}), note("low", "LOW"), THREE[2]), says("ok"))
    assert d.notes == ["zero"], "what stands before the first question runs at once, what stands behind it does not"
    assert asked(d) == ["one", "two", "three"]
    assert d.kinds().count("action_decided") == 1
    for _ in range(3):
        d.answer()
    assert d.notes == ["zero", "one", "two", "low", "three"]
    assert results(d) == ["noted zero", "noted one", "noted two", "all is well", "noted low", "noted three"]


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_decisions_may_come_in_any_order_and_actions_run_in_theirs(harness, order):
    d = went(harness, calls(*THREE), says("ok"))
    three = d.waiting()
    for at in order:
        d.decide(three[at])
        d.run()
        assert d.notes == ["one", "two", "three"][: len(d.notes)]
    assert d.notes == ["one", "two", "three"]
    assert undecided_starts(d.log()) == []
    assert faults_of(d.agent.requests[-1]) == []


def test_rejection_is_reported_in_its_place_and_decides_nothing_else(harness):
    d = went(harness, calls(*THREE), says("ok"))
    one, two, three = d.waiting()
    d.decide(two, "rejected", note="not that")
    d.run()
    assert (asked(d), d.notes) == (["one", "three"], [])
    d.decide(one)
    d.run()
    assert (asked(d), d.notes) == (["three"], ["one"])
    d.decide(three)
    d.run()
    assert d.notes == ["one", "three"]
    assert [text.partition(".")[0] for text in results(d)] == [
        "noted one",
        "The user rejected this action; it was not run",
        "noted three",
    ]
    assert faults_of(d.agent.requests[-1]) == []


def test_decision_applies_once_and_only_to_what_was_shown(harness):
    d = went(harness, calls(*THREE), says("ok"))
    _, two, three = d.waiting()
    d.decide(three)
    with pytest.raises(CommandError, match="no longer needs"):
        d.decide(three, "rejected")
    with pytest.raises(CommandError, match="has changed"):
        d.decide(two, fingerprint="another")
    assert asked(d) == ["one", "two"]


def test_restart_keeps_open_questions_and_decisions(harness):
    d = went(harness, calls(*THREE), says("ok"))
    d.decide(d.waiting()[1])
    before, assessments = d.kinds(), [action.assessed for action in d.waiting()]
    d.reopen()
    d.run()
    assert (d.kinds(), d.notes) == (before, [])
    assert [action.assessed for action in d.waiting()] == assessments
    d.answer()
    assert (d.notes, asked(d)) == (["one", "two"], ["three"])
    d.answer("rejected")
    assert d.notes == ["one", "two"]


def test_interrupt_ends_all_questions(harness):
    d = went(harness, calls(*THREE), says("ok"))
    d.decide(d.waiting()[2])
    d.session.interrupt()
    assert (d.session.phase, asked(d)) == ("idle", [])
    d.session.send("go on")
    d.run()
    assert d.notes == []
    assert results(d) == ["This call was not run: the user interrupted."] * 3


def test_edit_of_a_file_that_an_earlier_action_writes_is_shown_again(harness, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    write = {"path": str(file), "text": "mine"}
    d = went(harness, calls(("write", {**write, "text": "first"}, "HIGH"), ("write", write, "HIGH")), says("ok"))
    first, second = d.waiting()
    assert second.assessed.preview[0].before == "old"
    d.decide(first)
    d.run()
    (again,) = d.waiting()
    assert (again.assessed.preview[0].before, again.assessed.preview[0].after) == ("first", "mine")
    with pytest.raises(CommandError, match="look at it again"):
        d.decide(second)
    assert file.read_text() == "first"
    d.decide(again)
    d.run()
    assert file.read_text() == "mine"


def test_edit_approved_ahead_is_asked_again_if_an_earlier_one_changed_the_file(harness, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    two = [("write", {"path": str(file), "text": text}, "HIGH") for text in ("first", "second")]
    d = went(harness, calls(*two), says("ok"))
    for action in reversed(d.waiting()):
        d.decide(action)
    d.run()
    assert file.read_text() == "first"
    (again,) = d.waiting()
    assert "changed after you approved it" in again.assessed.reasons[0]
    d.answer("rejected")
    assert file.read_text() == "first"


def test_approved_action_still_allowed_is_not_asked_again(harness, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    two = [("write", {"path": str(file), "text": text}, "MEDIUM") for text in ("first", "second")]
    d = went(harness, calls(*two), says("ok"))
    first, second = d.waiting()
    for action in (second, first):
        d.decide(action)
    d.session.set(mode="high")
    d.run()
    assert file.read_text() == "first"
    assert len(d.waiting()) == 1, "what the person has seen is theirs, whatever the mode allows"
    assert first.proposed.action_id not in [action.proposed.action_id for action in d.waiting()]


@pytest.fixture
def shelled(harness, tmp_path: Path):
    """A session with the real shell and the real editor."""
    made = []

    def make(*script, **more) -> Harness:
        d = harness(*script, **more)
        tools: dict[str, ToolDefinition] = {
            "execute_bash": BashTool(working_dir=str(tmp_path)),
            "str_replace_editor": FileEditorTool(),
        }
        made.append(tools)
        d.tools.update(tools)
        d.reopen()
        d.session.send("go")
        d.run()
        return d

    yield make
    for tools in made:
        for tool in tools.values():
            tool.close()


def bash(command: str, risk: str = "MEDIUM") -> tuple:
    return ("execute_bash", {"command": command}, risk)


def test_command_is_asked_again_if_an_earlier_one_changed_the_directory(shelled, tmp_path: Path):
    (tmp_path / "sub").mkdir()
    d = shelled(calls(bash("cd sub", "HIGH"), bash("touch here", "HIGH")), says("ok"))
    first, second = d.waiting()
    assert second.assessed.working_dir == str(tmp_path)
    d.decide(first)
    d.run()
    (again,) = d.waiting()
    assert again.assessed.working_dir == str(tmp_path / "sub")
    d.answer()
    assert (tmp_path / "sub" / "here").exists()


def test_command_riskier_than_when_approved_is_asked_again(shelled, tmp_path: Path):
    (tmp_path / "build").mkdir()
    delete = bash("rm -f build/no-such-file-of-the-tests")
    d = shelled(calls(bash("rmdir build && ln -s /etc build", "HIGH"), delete), says("ok"))
    first, second = d.waiting()
    assert (first.assessed.risk, second.assessed.risk) == ("HIGH", "MEDIUM")
    for action in (second, first):
        d.decide(action)
    d.run()
    (again,) = d.waiting()
    assert again.assessed.risk == "HIGH"
    assert again.assessed.reasons[0] == "it was MEDIUM when you decided, and is HIGH now"
    d.answer("rejected")
    assert "rejected" in results(d)[1]


def test_answer_to_a_question_shown_with_a_lower_risk_approves_nothing(shelled, tmp_path: Path):
    (tmp_path / "build").mkdir()
    delete = bash("rm -f build/no-such-file-of-the-tests")
    d = shelled(calls(bash("rmdir build && ln -s /etc build", "HIGH"), delete), says("ok"))
    first, seen = d.waiting()
    assessed = seen.assessed
    assert assessed.risk == "MEDIUM"
    d.decide(first)
    d.run()
    (again,) = d.waiting()
    assert again.assessed.risk == "HIGH"
    with pytest.raises(CommandError, match="changed since it was shown"):
        d.decide(again, fingerprint=assessed.fingerprint)
    assert d.waiting() == [again]
    d.answer()
    assert d.waiting() == []
    assert len(results(d)) == 2, "the answer to what is shown now holds"


def test_action_approved_ahead_is_asked_again_after_a_refusal_of_the_same(shelled, tmp_path: Path):
    (tmp_path / "a.txt").write_text("x")
    d = shelled(calls(bash("rm a.txt"), bash("mv a.txt b.txt")), says("ok"))
    delete, move = d.waiting()
    d.decide(move)
    d.decide(delete, "rejected")
    d.run()
    (again,) = d.waiting()
    assert again.assessed.reasons[0] == "does what was refused before: rm a.txt"
    assert (tmp_path / "a.txt").exists()
    d.answer()
    assert (tmp_path / "b.txt").exists()


def test_edit_not_possible_yet_is_asked_about_once_it_is(shelled, tmp_path: Path):
    file = str(tmp_path / "new.txt")
    made = bash("echo one > new.txt")
    changed = {"command": "str_replace", "path": file, "old_str": "one", "new_str": "two"}
    d = shelled(calls(made, ("str_replace_editor", changed, "MEDIUM"), bash("touch third")), says("ok"))
    assert [action.proposed.position for action in d.waiting()] == [0, 2]
    d.answer()
    assert [action.proposed.position for action in d.waiting()] == [1, 2]
    assert d.session.question.assessed.preview[0].after == "two\n"
    d.answer()
    d.answer()
    assert Path(file).read_text() == "two\n"
    assert (tmp_path / "third").exists()


def test_question_about_an_edit_no_longer_possible_is_withdrawn(shelled, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    edit = {"command": "str_replace", "path": str(file), "old_str": "one", "new_str": "two"}
    d = shelled(calls(bash("rm a.txt"), ("str_replace_editor", edit, "MEDIUM")), says("ok"), says("ok"))
    assert len(d.waiting()) == 2
    d.answer()
    assert d.waiting() == []
    assert d.session.phase == "idle"
    assert "a.txt" in results(d)[1]


def test_always_rule_leaves_waiting_actions_and_counts_its_matches(shelled, tmp_path: Path):
    d = shelled(calls(bash("make a"), bash("touch other"), bash("make a")), says("ok"))
    first, _, _ = d.waiting()
    rule = first.assessed.always
    assert rule
    d.decide(first, always=AlwaysRule(rule, "session"))
    d.run()
    assert asked(d) == ["touch other", "make a"]
    assert "1 pending action matches the new rule; it still needs your decision" in offers(d)
    d.answer("rejected")
    d.answer("rejected")
    assert len(results(d)) == 3


def test_mode_that_would_allow_waiting_actions_decides_none_and_counts_them(harness):
    d = went(harness, calls(*THREE), says("ok"))
    d.session.set(mode="never")
    d.run()
    assert (d.notes, asked(d)) == ([], ["one", "two", "three"])
    assert offers(d) == ["3 pending actions match the new mode; they still need your decision"]
    for _ in range(3):
        d.answer()
    assert d.notes == ["one", "two", "three"]


def test_nothing_is_asked_ahead_after_a_call_that_ends_the_run(harness):
    d = went(harness, calls(note("one"), ("finish", {"message": "done"}), note("two")), says("ok"))
    assert asked(d) == ["one"]
    d.answer()
    assert (d.notes, d.session.ended) == (["one"], "finished")


def test_user_is_notified_that_a_tool_refused_an_approved_action(shelled, tmp_path: Path):
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    edit = {"command": "str_replace", "path": str(file), "old_str": "one", "new_str": "two"}
    d = shelled(calls(bash("rm a.txt"), ("str_replace_editor", edit, "MEDIUM")), says("ok"))
    for action in reversed(d.waiting()):
        d.decide(action)
    d.run()
    state = SessionState()
    for event in d.log():
        apply(state, event)
    first, second = state.actions.values()
    assert (first.phase, second.phase) == ("done", "failed")
    (notice,) = [item for item in state.items if isinstance(item, NoticeItem) and item.kind == "warning"]
    assert notice.text.startswith("Action 2 was not done as you decided: ")
    assert "a.txt" in notice.text


def replaced(file: Path, old: str, new: str) -> tuple:
    return ("str_replace_editor", {"command": "str_replace", "path": str(file), "old_str": old, "new_str": new}, "HIGH")


@pytest.fixture
def stacked(harness, tmp_path: Path):
    """Two edits of one file in one answer, both asked about."""
    file = tmp_path / "a.txt"
    file.write_text("".join(f"line {number}\n" for number in range(30)))
    editor = FileEditorTool(str(tmp_path))
    d = harness(calls(replaced(file, "line 2\n", "two\n"), replaced(file, "two\nline 3\n", "two\nthree\n")), says("ok"))
    d.tools[editor.name] = editor
    d.session.send("go")
    d.run()
    d.file = file
    return d


def test_second_edit_of_a_file_is_shown_on_top_of_the_first_and_asked_once(stacked):
    first, second = stacked.waiting()
    assert second.assessed.preview[0].before == first.assessed.preview[0].after
    assert "a.txt is shown as an action before this one will leave it" in second.assessed.reasons[0]
    text = second.assessed.preview[0].after
    stacked.decide(second)
    stacked.decide(first)
    stacked.run()
    assert (stacked.file.read_text(), stacked.waiting()) == (text, [])
    assert stacked.kinds().count("action_assessed") == 2, "neither was asked about again"
    assert "two\nthree\n" in text


def test_second_edit_may_be_accepted_in_part_before_the_first_is_written(stacked):
    first, second = stacked.waiting()
    mine = second.assessed.preview[0].after.replace("three\n", "my three\n")
    stacked.decide(second, "edited", written=(FileText(path=str(stacked.file), text=mine),))
    stacked.decide(first)
    stacked.run()
    assert (stacked.file.read_text(), stacked.waiting()) == (mine, [])


def test_second_edit_is_not_written_as_shown_if_the_first_is_rejected(stacked):
    first, second = stacked.waiting()
    before = stacked.file.read_text()
    stacked.decide(second)
    stacked.decide(first, "rejected")
    stacked.run()
    assert stacked.file.read_text() == before
    assert "old_str" in results(stacked)[1] or "not found" in results(stacked)[1]


def test_second_edit_is_shown_on_top_of_the_edited_first_one(stacked):
    first, second = stacked.waiting()
    mine = first.assessed.preview[0].after.replace("line 20\n", "twenty\n")
    stacked.decide(first, "edited", written=(FileText(path=str(stacked.file), text=mine),))
    stacked.run()
    (again,) = stacked.waiting()
    assert (again.assessed.preview[0].before, again.assessed.stacked) == (mine, ())
    with pytest.raises(CommandError, match="look at it again"):
        stacked.decide(second)
    stacked.decide(again)
    stacked.run()
    assert stacked.file.read_text() == again.assessed.preview[0].after


def test_second_edit_is_not_written_after_a_change_by_another_program(stacked):
    first, second = stacked.waiting()

    def meddle(event) -> None:
        if event.kind == "action_observed":
            stacked.file.write_text(stacked.file.read_text() + "of another\n")

    stacked.hook = meddle
    stacked.decide(second)
    stacked.decide(first)
    stacked.run()
    assert "three" not in stacked.file.read_text()
    assert stacked.file.read_text().endswith("of another\n")
    assert "has changed since it was last shown to you" in results(stacked)[1]


def test_edit_of_a_file_that_an_earlier_action_creates_is_asked_together(harness, tmp_path: Path):
    file = tmp_path / "new.txt"
    make = ("str_replace_editor", {"command": "create", "path": str(file), "file_text": "one\ntwo\n"}, "HIGH")
    d = harness(calls(make, replaced(file, "two", "three")), says("ok"))
    editor = FileEditorTool(str(tmp_path))
    d.tools[editor.name] = editor
    d.session.send("go")
    d.run()
    for action in d.waiting():
        d.decide(action)
    assert not file.exists()
    d.run()
    assert (file.read_text(), d.waiting()) == ("one\nthree\n", [])
