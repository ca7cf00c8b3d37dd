"""A file that changed since the agent read it is merged if possible; otherwise the user is asked."""

from pathlib import Path

import pytest

from tests.session.fake_agent import Harness, calls, says
from workbench.protocol.events import ActionObserved, FileDelta, FilesChanged, UserCommand, VersionTaken
from workbench.protocol.stale_file import StaleFile
from workbench.session.actions.stale_files import has_conflicts, stale_reasons
from workbench.tools import FileEditorTool

BASE = "".join(f"line {number}\n" for number in range(1, 21))
VIEW = {"command": "view"}
EDIT = {"command": "str_replace", "old_str": "line 3\n", "new_str": "three\n"}


class Shared:
    """A session whose agent viewed a file and then wants to edit it, while others change the file."""

    def __init__(self, directory: Path, edit=EDIT, mode="medium", before=BASE, merges=True, risk="HIGH") -> None:
        self.file = directory / "a.txt"
        self.file.write_bytes(before.encode())
        look, change = ({**arguments, "path": str(self.file)} for arguments in (VIEW, edit))
        self.harness = Harness(
            directory,
            calls(("str_replace_editor", look)),
            calls(("str_replace_editor", change, risk)),
            says("ok"),
            mode=mode,
            state_dir=directory / "state",
        )
        self.harness.tools["str_replace_editor"] = FileEditorTool(str(directory), directory / "state", merges=merges)
        self.harness.session.send("go")
        while len(self.harness.agent.requests) < 1 or self.harness.session.phase == "acting":
            self.harness.session.step()

    def change(self, text: str) -> None:
        self.file.write_bytes(text.encode())

    @property
    def assessed(self):
        return self.harness.session.question.assessed

    @property
    def result(self) -> str:
        return self.harness.agent.requests[-1][-1]["content"]


@pytest.fixture
def shared(tmp_path):
    made = []

    def make(**more) -> Shared:
        made.append(Shared(tmp_path, **more))
        return made[-1]

    yield make
    for one in made:
        one.harness.close()


def test_change_elsewhere_in_the_file_is_kept_and_mentioned_in_the_question(shared):
    one = shared()
    theirs = BASE.replace("line 18\n", "eighteen\nand a half\n")
    one.change(theirs)
    one.harness.run()
    (stale,) = one.assessed.stale
    merged = theirs.replace("line 3\n", "three\n")
    assert (stale.seen, stale.theirs, stale.conflicts) == (BASE, theirs, 0)
    assert stale.wanted == BASE.replace("line 3\n", "three\n")
    assert [(file.before, file.after) for file in one.assessed.preview] == [(theirs, merged)]
    assert "a.txt changed since the agent read it: +2 -1 by somebody else" in one.assessed.reasons[0]
    assert "merged with that change" in one.assessed.reasons[0]
    one.harness.answer()
    assert one.file.read_text() == merged
    assert "changed since you last saw it: +2 -1" in one.result
    assert "merged with that change:]\n-line 18\n+eighteen\n+and a half" in one.result


def test_author_of_the_change_is_named_if_the_log_knows(shared):
    one = shared()
    theirs = BASE + "more\n"
    one.change(theirs)
    delta = FileDelta(path=str(one.file), before=BASE, after=theirs)
    one.harness.session._log.commit(FilesChanged(files=(delta,), by="other"))
    one.harness.run()
    assert "+1 -0 by another program" in one.assessed.reasons[0]


@pytest.mark.parametrize(("command", "who"), [("own_1", "the user"), ("call_1", "an earlier action of the agent's")])
def test_author_of_a_change_that_only_a_snapshot_found_is_named(shared, command: str, who: str):
    one = shared()
    theirs = BASE + "more\n"
    one.change(theirs)
    delta = FileDelta(path=str(one.file), before=BASE, after=theirs)
    commit = one.harness.session._log.commit
    commit(UserCommand(action_id="own_1", command="echo more >> a.txt"))
    commit(
        ActionObserved(action_id="own_1", observation={"text": "", "is_error": False}),
        VersionTaken(action_id=command, files=(delta,)),
    )
    one.harness.run()
    assert f"+1 -0 by {who}" in one.assessed.reasons[0]


def test_clean_merge_asks_nobody_if_the_mode_does_not(shared):
    one = shared(mode="never")
    one.change(BASE + "more\n")
    one.harness.run()
    assert one.file.read_text() == BASE.replace("line 3\n", "three\n") + "more\n"
    assert "+more" in one.result


def test_conflicting_changes_ask_in_every_mode_and_contain_no_markers(shared):
    one = shared(mode="never")
    theirs = BASE.replace("line 3\n", "III\n").replace("line 20\n", "twenty\n")
    one.change(theirs)
    one.harness.run()
    (stale,) = one.assessed.stale
    assert stale.conflicts == 1
    assert "do not go together" in one.assessed.reasons[0]
    assert "the same lines in 1 place" in one.assessed.reasons[1]
    (file,) = one.assessed.preview
    assert file.after == theirs.replace("III\n", "three\n")
    assert one.file.read_text() == theirs
    one.harness.session.set(mode="ask")
    one.harness.session.set(mode="never")
    assert one.file.read_text() == theirs
    assert one.harness.session.phase == "deciding"
    one.harness.answer()
    assert one.file.read_text() == theirs.replace("III\n", "three\n")
    assert "the user looked at both and decided" in one.result


def test_partial_approval_of_a_merge_keeps_the_others_change(shared):
    one = shared(edit={**EDIT, "old_str": BASE, "new_str": BASE.replace("line 3\n", "three\n") + "end\n"})
    theirs = BASE.replace("line 10\n", "ten\n")
    one.change(theirs)
    one.harness.run()
    one.harness.answer("edited", hunks=(1,))
    assert one.file.read_text() == theirs + "end\n"
    assert "Hunk 1 (line 3): not accepted." in one.result
    assert "Hunk 2 (new lines after line 20): accepted." in one.result
    assert "changed since you last saw it: +1 -1" in one.result


def test_rejection_mentions_that_the_file_has_changed(shared):
    one = shared()
    one.change(BASE + "more\n")
    one.harness.run()
    one.harness.answer("rejected", note="look first")
    assert "look first" in one.result
    assert "changed since you last saw it: +1 -0 by somebody else. View it before you edit it.]" in one.result
    assert one.file.read_text() == BASE + "more\n"


def test_another_change_after_the_approval_asks_again_with_it(shared):
    one = shared()
    one.change(BASE + "more\n")
    one.harness.run()
    waiting = one.harness.session.question
    one.harness.session.decide(waiting.proposed.action_id, "approved", fingerprint=waiting.assessed.fingerprint)
    one.change(BASE + "more and more\n")
    one.harness.run()
    assert "changed after you approved it" in one.assessed.reasons[0]
    one.harness.answer()
    assert one.file.read_text() == BASE.replace("line 3\n", "three\n") + "more and more\n"


def test_merge_needs_no_other_program(shared, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    one = shared(mode="never")
    one.change(BASE + "more\n")
    one.harness.run()
    assert one.file.read_text() == BASE.replace("line 3\n", "three\n") + "more\n"


def test_edit_that_could_not_be_merged_is_a_question_that_says_so():
    file = StaleFile(path="/w/a.txt", seen="one\n", theirs="two\n", wanted="three\n", conflicts=None)
    (reason,) = stale_reasons([file])
    assert has_conflicts([file])
    assert "could not be merged" in reason
    assert "reverts that change" in reason


def test_merge_base_survives_a_restart(shared):
    one = shared()
    one.change(BASE + "more\n")
    one.harness.reopen()
    one.harness.tools["str_replace_editor"] = FileEditorTool("/", one.file.parent / "state", merges=True)
    one.harness.session.send("go on")
    one.harness.run()
    assert one.assessed.stale[0].seen == BASE


def test_edit_of_text_the_agent_has_not_seen_requires_a_view_first(shared):
    one = shared(edit={**EDIT, "old_str": "more\n"})
    one.change(BASE + "more\n")
    one.harness.run()
    assert "has changed since it was last shown to you. View it again" in one.result


def test_edit_already_made_by_another_program_is_not_made_twice(shared):
    one = shared()
    one.change(BASE.replace("line 3\n", "three\n"))
    one.harness.run()
    assert "contains this edit already" in one.result


def test_tool_without_merging_refuses_as_before(shared):
    one = shared(merges=False)
    one.change(BASE + "more\n")
    one.harness.run()
    assert "View it again before you edit it" in one.result
    assert one.file.read_text() == BASE + "more\n"
