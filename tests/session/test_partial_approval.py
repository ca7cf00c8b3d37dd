"""A partly approved change: the files hold base and accepted hunks byte for byte, and the model gets the same hunks."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.full_disk import room_for
from tests.session.fake_agent import calls, says
from tests.session.rewrite_tool import Rewriting, held
from workbench.diff.hunks import compare
from workbench.diff.partial import contents_with
from workbench.protocol.events import ActionDecided, FileDelta, FileText
from workbench.session.actions.partial_approval import parts_of
from workbench.session.actions.run import PartialWriter
from workbench.session.session import CommandError
from workbench.tools import FileEditorTool

BASE = "".join(f"line {number}\n" for number in range(1, 31))
WANTED = BASE.replace("line 2\n", "two\n").replace("line 15\n", "fifteen\nand more\n").replace("line 29\n", "")
THIRD = BASE.replace("line 29\n", "")

lines = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "ä", "d\n"]), max_size=9).map("".join)
pairs = st.lists(st.tuples(st.none() | lines, st.none() | lines), min_size=1, max_size=3)


@settings(max_examples=40, deadline=None)
@given(pairs, st.data())
def test_any_part_of_any_change_is_written_to_the_files(wanted, data):
    with tempfile.TemporaryDirectory() as directory:
        one = Rewriting(Path(directory), *wanted)
        diffs = [compare("", *pair) for pair in wanted]
        count = sum(len(diff.hunks) for diff in diffs)
        chosen = sorted(data.draw(st.sets(st.sampled_from(range(count))))) if count else []
        one.harness.answer("edited", hunks=tuple(chosen))
        assert one.held() == contents_with(diffs, chosen)
        if len(chosen) == count and count:
            assert one.held() == [after for _, after in wanted]
            assert one.tool.ran == 1
        elif not chosen:
            assert one.held() == [before for before, _ in wanted]
            assert "The user rejected this action" in one.result
        elif one.tool.ran == 0:
            assert _told_hunks(one) == chosen
        one.harness.close()


def _told_hunks(one: Rewriting) -> list[int]:
    """Return the hunks that the result for the model lists as applied, numbered over all files."""
    taken, first = [], 0
    for file in one.harness.log()[4].preview:
        diff = compare(file.path, file.before, file.after)
        part = one.result.partition(f"\n{file.path}: ")[2].split("\n\n/")[0]
        outcome = part.splitlines()[0]
        said = re.findall(r"^Hunk (\d+) \([^)]*\): accepted\.", part, re.MULTILINE)
        if not said and outcome in ("deleted.", "made as you proposed it.", "written as you proposed it."):
            said = range(1, len(diff.hunks) + 1)
        taken += [first + int(number) - 1 for number in said]
        first += len(diff.hunks)
    return taken


def test_two_of_three_hunks_are_skipped_and_one_is_edited(tmp_path):
    one = Rewriting(tmp_path, (BASE, WANTED))
    text = THIRD.replace("line 28\n", "line 28, which the person wrote\n")
    one.harness.answer(
        "edited", hunks=(2,), written=(FileText(path=str(one.paths[0]), text=text),), note="keep the rest"
    )
    assert one.held() == [text]
    assert one.tool.ran == 0
    assert one.result.endswith("The user's note: keep the rest")
    assert "Hunk 1 (line 2): not accepted.\n-line 2\n+two\n" in one.result
    assert "Hunk 2 (line 15): not accepted.\n-line 15\n+fifteen\n+and more\n" in one.result
    assert "Hunk 3 (line 29): accepted, edited by the user.\n-line 28\n+line 28, which the person wrote\n" in one.result
    assert "1 of 3 hunks accepted" in one.result
    assert "    28\tline 28, which the person wrote" in one.result
    assert one.observed.observation["is_error"] is False
    (delta,) = one.observed.files_changed
    assert (delta.before, delta.after) == (BASE, text)
    assert one.decided.verdict == "edited"
    one.harness.close()


def test_accepted_hunks_are_derived_from_the_written_text(tmp_path):
    one = Rewriting(tmp_path, (BASE, WANTED))
    one.harness.answer("edited", written=(FileText(path=str(one.paths[0]), text=f"first\n{THIRD}"),))
    assert _told_hunks(one) == [2]
    assert "Elsewhere the user changed:\n+first" in one.result
    one.harness.close()


def test_text_equal_to_the_proposal_runs_the_tool(tmp_path):
    one = Rewriting(tmp_path, (BASE, WANTED))
    one.harness.answer("edited", hunks=(0, 1, 2), written=(FileText(path=str(one.paths[0]), text=WANTED),))
    assert (one.tool.ran, one.decided.verdict, one.decided.written) == (1, "approved", None)
    assert one.held() == [WANTED]
    one.harness.close()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"hunks": (3,)}, "has 3 hunks, and none with the number 3"),
        ({"hunks": (-1,)}, "none with the number -1"),
        ({"written": ()}, "exactly the files that were shown"),
        ({"written": (FileText(path="/etc/other", text="x"),)}, "exactly the files that were shown"),
        ({"written": (FileText(path="0.txt", text="x\0"),)}, "NUL"),
        ({"hunks": (0,), "edited": {"files": {}}}, "not both at once"),
    ],
)
def test_part_that_does_not_match_the_preview_is_refused(tmp_path, given, why):
    one = Rewriting(tmp_path, (BASE, WANTED))
    if "written" in given and given["written"] and given["written"][0].path == "0.txt":
        given = {"written": (FileText(path=str(one.paths[0]), text="x\0"),)}
    with pytest.raises(CommandError, match=why):
        one.harness.answer("edited", **given)
    assert one.held() == [BASE]
    assert one.harness.session.phase == "deciding"
    one.harness.close()


def test_part_that_the_files_encoding_cannot_represent_is_refused(tmp_path):
    one = Rewriting(tmp_path, (BASE, WANTED))
    raw = b"caf\xe9\n"
    one.paths[0].write_bytes(raw)
    with pytest.raises(CommandError, match=r"only as a whole: .* does not contain the text that was shown"):
        one.harness.answer("edited", hunks=(0,))
    assert one.paths[0].read_bytes() == raw
    one.harness.close()


def test_action_without_files_has_no_parts(harness):
    d = harness(calls(("note", {"text": "one"}, "HIGH")), says("ok"))
    d.session.send("go")
    d.run()
    with pytest.raises(CommandError, match="shows no files"):
        d.answer("edited", hunks=(0,))


def test_file_changed_after_the_decision_is_asked_about_again(tmp_path):
    one = Rewriting(tmp_path, (BASE, WANTED))
    question = one.harness.session.question
    one.harness.session.decide(
        question.proposed.action_id, "edited", fingerprint=question.assessed.fingerprint, hunks=(0,), note="only that"
    )
    one.paths[0].write_text(f"{BASE}line 31\n")
    one.harness.run()
    asked = one.harness.session.question.assessed
    assert "changed after you approved it" in asked.reasons[0]
    assert "choose again" in asked.reasons[0]
    assert one.held() == [f"{BASE}line 31\n"]
    one.harness.answer("edited", hunks=(0,))
    assert one.held() == [f"{BASE}line 31\n".replace("line 2\n", "two\n")]
    one.harness.close()


def test_users_own_arguments_are_asked_again_as_written(tmp_path):
    one = Rewriting(tmp_path, (BASE, WANTED))
    question, path = one.harness.session.question, str(one.paths[0])
    mine = {"files": {path: "mine\n"}}
    one.harness.session.decide(
        question.proposed.action_id, "edited", fingerprint=question.assessed.fingerprint, edited=mine, note=""
    )
    again = one.harness.session.question
    assert [file.after for file in again.assessed.preview] == ["mine\n"], "what it would write is shown first"
    one.harness.session.decide(again.proposed.action_id, "approved", fingerprint=again.assessed.fingerprint)
    one.paths[0].write_text("somebody else's\n")
    one.harness.run()
    asked = one.harness.session.question
    assert asked.assessed.edited == mine
    assert asked.arguments == mine
    assert [(file.before, file.after) for file in asked.assessed.preview] == [("somebody else's\n", "mine\n")]
    one.harness.session.set(mode="never")
    assert one.held() == ["somebody else's\n"]
    one.harness.answer()
    assert one.held() == ["mine\n"]
    assert "changed the arguments" in one.harness.agent.requests[-1][-1]["content"]
    one.harness.close()


def test_note_with_an_approval_reaches_the_model(tmp_path):
    one = Rewriting(tmp_path, (BASE, WANTED))
    one.harness.answer("approved", note="run the tests next")
    assert one.harness.agent.requests[-1][-1]["content"] == "[The user's note: run the tests next]\nrewritten"
    one.harness.close()


def test_mode_links_and_line_endings_are_preserved(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (real / "f").write_bytes(b"one\r\ntwo\r\nthree")
    (real / "f").chmod(0o754)
    (tmp_path / "0.txt").symlink_to(real / "f")
    one = Rewriting(tmp_path, ("one\r\ntwo\r\nthree", "1\r\ntwo\r\n3"))
    one.harness.answer("edited", hunks=(0,))
    assert (real / "f").read_bytes() == b"1\r\ntwo\r\nthree"
    assert (tmp_path / "0.txt").is_symlink()
    assert (real / "f").stat().st_mode & 0o777 == 0o754
    one.harness.close()


def test_full_disk_leaves_every_file_unchanged(tmp_path):
    long = "".join(f"a long line with the number {number}\n" for number in range(20_000))
    files = [("one\ntwo\nthree\n", "1\ntwo\n3\n"), ("short\n", long), ("gone\n", None)]
    paths = [tmp_path / str(number) for number in range(3)]
    for path, (before, _) in zip(paths, files, strict=True):
        path.write_text(before)
    deltas = [FileDelta(path=str(p), before=b, after=a) for p, (b, a) in zip(paths, files, strict=True)]
    decided = ActionDecided(action_id="a", verdict="edited", by="person", hunks=(0, 2, 3))
    writing = PartialWriter(tmp_path / "state")
    with room_for(300_000):
        note = writing.carry_out(parts_of(deltas, decided), "")
    assert note.is_error
    assert note.text.startswith("Nothing was written. ")
    assert [held(path) for path in paths] == [before for before, _ in files]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2", "state"]
    assert not writing.carry_out(parts_of(deltas, decided), "").is_error
    assert [held(path) for path in paths] == ["1\ntwo\nthree\n", long, None]


def test_partial_edit_can_be_undone_and_edited_further(harness, tmp_path):
    file, state = tmp_path / "a.txt", tmp_path / "state"
    file.write_text("one\ntwo\nthree\n")
    edit = {"command": "str_replace", "path": str(file), "old_str": "one\ntwo\nthree", "new_str": "1\ntwo\n3"}
    more = {"command": "str_replace", "path": str(file), "old_str": "two", "new_str": "2"}
    undo = {"command": "undo_edit", "path": str(file)}
    view = {"command": "view", "path": str(file)}
    d = harness(
        calls(*[("str_replace_editor", arguments, "HIGH") for arguments in (view, edit, more, undo, undo)]),
        says("ok"),
        state_dir=state,
    )
    d.tools["str_replace_editor"] = FileEditorTool(str(tmp_path), state)
    d.session.send("go")
    d.run()
    for answer, text in (
        ({}, "one\ntwo\nthree\n"),
        ({"verdict": "edited", "hunks": (1,)}, "one\ntwo\n3\n"),
        ({}, "one\n2\n3\n"),
        ({}, "one\ntwo\n3\n"),
        ({}, "one\ntwo\nthree\n"),
    ):
        if d.session.question is not None:
            d.answer(**answer)
        assert held(file) == text or not answer
    assert held(file) == "one\ntwo\nthree\n"
