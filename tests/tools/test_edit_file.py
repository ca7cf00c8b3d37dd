from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.editor import Editor
from tests.tools.fake_merger import Merger, merged
from workbench.files.text_file import EditorError
from workbench.tools import ArgumentError, CompletionError, LLMBasedFileEditTool, ToolContext, open_tools
from workbench.tools.str_replace_editor.edits import replace_lines

TEXT = "def f():\n    a = 1\n    return a\n\n\ndef g():\n    return 2\n"


class Drafting:
    """A helper that drafts edits of one file."""

    def __init__(self, directory: Path, state_dir: Path | None, merger: Merger) -> None:
        self.merger = merger
        self.tool = LLMBasedFileEditTool(merger, str(directory), state_dir)

    def action(self, path: Path | str, content: str, **more: Any) -> Any:
        return self.tool.action_from_arguments({"path": str(path), "content": content, **more})

    def run(self, path: Path | str, content: str, **more: Any) -> Any:
        return self.tool(self.action(path, content, **more))

    def done(self, path: Path | str, content: str, **more: Any) -> str:
        result = self.run(path, content, **more)
        assert not result.is_error, result.text
        return str(result.text)

    def refused(self, path: Path | str, content: str, **more: Any) -> str:
        """Check that the call is refused in the same way when prepared and when run, and has no preview."""
        action = self.action(path, content, **more)
        prepare = self.tool.preparation(action)
        early = prepare() if prepare else None
        assert self.tool.preview(action) == ()
        result = self.tool(action)
        assert early is not None
        assert early.is_error
        assert result.is_error
        assert early.text == result.text
        return str(result.text)


@pytest.fixture
def file(project: Path) -> Path:
    file = project / "a.py"
    file.write_text(TEXT)
    return file


@pytest.fixture
def drafting(project: Path, tmp_path: Path) -> Callable[..., Drafting]:
    return lambda *answers: Drafting(project, tmp_path / "state", Merger(*answers))


def test_model_merges_the_draft_with_the_lines_of_the_range(drafting, file):
    hand = drafting(merged("def g():\n    return 3"))
    message = hand.done(file, "def g():\n    return 3", start=6, end=7)
    assert file.read_text() == TEXT.replace("return 2", "return 3")
    assert f"Edited {file}." in message
    assert "     7\t    return 3" in message
    (prompt,) = hand.merger.prompts
    assert "<part>\ndef g():\n    return 2\n</part>" in prompt
    assert "<draft>\ndef g():\n    return 3\n</draft>" in prompt
    assert "a = 1" not in prompt


def test_range_defaults_to_the_whole_file(drafting, file):
    hand = drafting(merged(TEXT.replace("1", "10").removesuffix("\n")))
    hand.done(file, "def f():\n    a = 10\n    # ... existing code ...")
    assert file.read_text() == TEXT.replace("1", "10")
    assert TEXT in hand.merger.prompts[0] + "\n"


def test_result_contains_both_texts_and_the_cost(drafting, file):
    result = drafting(merged("def g():\n    return 3")).run(file, "…", start=6, end=7)
    assert (result.old_content, result.new_content, result.prev_exist) == (TEXT, file.read_text(), True)
    assert (result.model, result.cost, result.input_tokens, result.output_tokens) == ("fake/merger", 0.002, 120, 40)


def test_start_minus_one_appends_the_draft_verbatim(drafting, file):
    hand = drafting("never asked")
    hand.done(file, "\n\ndef h():\n    return 4", start=-1)
    assert file.read_text() == TEXT + "\n\ndef h():\n    return 4\n"
    file.write_bytes(b"a\r\nb")
    Editor(file.parent, file.parent.parent / "state").done("view", file)
    hand.done(file, "c", start=-1)
    assert file.read_bytes() == b"a\r\nb\r\nc"
    assert hand.merger.prompts == []


def test_missing_file_is_created_from_the_draft(drafting, project):
    hand = drafting("never asked")
    path = project / "new" / "b.py"
    assert hand.done(path, "x = 1\n") == f"File created: {path}"
    assert path.read_text() == "x = 1\n"
    assert hand.merger.prompts == []


def test_placeholders_are_refused_if_no_model_fills_them(drafting, file, project):
    draft = "x = 1\n# ... rest of the code ...\n"
    assert "# ... rest of the code ..." in drafting("").refused(project / "new.py", draft)
    assert "# ... rest of the code ..." in drafting("").refused(file, draft, start=-1)
    assert file.read_text() == TEXT
    assert not (project / "new.py").exists()


def test_preview_writes_nothing_and_is_written_without_another_model_call(drafting, file):
    hand = drafting(merged("def g():\n    return 3"), merged("def g():\n    return 'something else'"))
    action = hand.action(file, "return 3", start=6, end=7)
    assert hand.tool.preparation(action)() is None
    (change,) = hand.tool.preview(action)
    assert file.read_text() == TEXT
    assert (change.path, change.before, change.after) == (str(file), TEXT, TEXT.replace("return 2", "return 3"))
    assert hand.tool.preparation(action) is None
    assert not hand.tool(action).is_error
    assert file.read_text() == change.after
    assert len(hand.merger.prompts) == 1


def test_preview_without_preparation_calls_the_model_once(drafting, file):
    hand = drafting(merged("def g():\n    return 3"), merged("def g():\n    return 'something else'"))
    action = hand.action(file, "return 3", start=6, end=7)
    (first,), (second,) = hand.tool.preview(action), hand.tool.preview(action)
    assert first == second
    assert len(hand.merger.prompts) == 1


def test_previewed_draft_is_written_after_a_restart_too(drafting, file):
    before = drafting(merged("def g():\n    return 3"))
    action = before.action(file, "return 3", start=6, end=7)
    (change,) = before.tool.preview(action)
    before.tool.close()
    after = drafting(CompletionError("nobody answers"))
    assert after.tool.preparation(action) is None
    assert after.tool.preview(action) == (change,)
    assert not after.tool(action).is_error
    assert file.read_text() == change.after


def test_lines_changed_since_the_preview_cause_another_model_call(drafting, file, project, tmp_path):
    hand = drafting(merged("def g():\n    return 3"), merged("def g():\n    return 30"))
    action = hand.action(file, "return 3", start=6, end=7)
    hand.tool.preview(action)
    file.write_text(TEXT.replace("return 2", "return 20"))
    assert hand.tool.preparation(action) is not None
    (change,) = hand.tool.preview(action)
    assert "return 30" in change.after
    assert len(hand.merger.prompts) == 2


def test_each_edit_calls_the_model_again_after_the_last_was_written(drafting, file):
    hand = drafting(lambda prompt: merged(f"line {len(prompt)}"), merged("another"))
    hand.done(file, "x", start=1, end=1)
    hand.done(file, "x", start=1, end=1)
    assert file.read_text().startswith("another\n")


def test_simultaneous_previews_keep_their_drafts_separate(drafting, project):
    hand = drafting(lambda prompt: merged("new " + prompt.split("<part>\n")[1][:6]))
    actions = []
    for number in range(5):
        (project / f"{number}.txt").write_text(f"file {number}\n")
        actions.append(hand.action(project / f"{number}.txt", "new …"))
        hand.tool.preview(actions[-1])
    for number, action in enumerate(actions):
        hand.tool(action)
        assert (project / f"{number}.txt").read_text() == f"new file {number}\n"
    assert len(hand.merger.prompts) == 5


def test_editor_undoes_an_edit_by_draft_and_continues_from_it(drafting, file, project, tmp_path):
    editor = Editor(project, tmp_path / "state")
    editor.done("view", file)
    drafting(merged("def g():\n    return 3")).done(file, "return 3", start=6, end=7)
    editor.done("str_replace", file, old_str="return 3", new_str="return 4")  # no new view is needed
    editor.done("undo_edit", file)
    editor.done("undo_edit", file)
    assert file.read_text() == TEXT
    drafting("").done(project / "new.py", "x = 1\n")
    editor.done("undo_edit", project / "new.py")
    assert not (project / "new.py").exists()


def test_file_changed_since_it_was_viewed_must_be_viewed_again(drafting, file, project, tmp_path):
    Editor(project, tmp_path / "state").done("view", file)
    file.write_text(TEXT + "# mine\n")
    assert "View it again" in drafting(merged("x")).refused(file, "x", start=1, end=1)


def test_range_of_over_300_lines_is_refused_with_advice(drafting, project):
    path = project / "long.py"
    path.write_text("".join(f"line {number}\n" for number in range(1, 402)))
    hand = drafting(lambda prompt: merged("changed"))
    message = hand.refused(path, "line 5 changed")
    assert "401 lines; at most 300" in message
    assert "give `start` and `end`" in message
    assert "at most 300" in hand.refused(path, "x", start=101, end=401)
    assert hand.merger.prompts == []
    hand.done(path, "changed", start=101, end=400)
    assert path.read_text().split("\n")[99:102] == ["line 100", "changed", "line 401"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"start": 0}, "`start` is 0, but the file has 7 lines"),
        ({"start": 8}, "`start` is 8, but the file has 7 lines"),
        ({"start": -2}, "`start` is -2"),
        ({"start": 5, "end": 4}, "before `start`"),
        ({"start": 5, "end": 0}, "before `start`"),
    ],
)
def test_invalid_range_is_explained(drafting, file, more, message):
    hand = drafting(merged("x"))
    assert message in hand.refused(file, "x", **more)
    assert hand.merger.prompts == []


def test_end_after_the_last_line_means_the_last_line(drafting, file):
    drafting(merged("    return 3")).done(file, "return 3", start=7, end=900)
    assert file.read_text() == TEXT.replace("return 2", "return 3")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("", "gave no merged text"),
        ("I cannot do that.", "gave no merged text"),
        ("<merged>\n\n</merged>", "answered with nothing"),
        ("<merged>\n   \n</merged>", "answered with nothing"),
        ("<merged>\ndef g():\n    return", "broke off"),
        ("```python\ndef g():\n    return 3", "gave no merged text"),
        ("<merged>\ndef g():\n    # ... existing code ...\n</merged>", "were not filled in"),
        ("<merged>\ndef g():\n    return 2\n</merged>", "changes nothing"),
        (CompletionError("The model's answer hit its length limit."), "length limit"),
    ],
)
def test_invalid_answer_changes_nothing_and_is_not_reused(drafting, file, answer, message):
    hand = drafting(answer)
    assert message in hand.refused(file, "def g():\n    # ... existing code ...", start=6, end=7)
    assert file.read_text() == TEXT
    hand.merger.answers = [merged("def g():\n    return 3")]
    hand.done(file, "def g():\n    # ... existing code ...", start=6, end=7)
    assert file.read_text() == TEXT.replace("return 2", "return 3")


@pytest.mark.parametrize(
    "answer",
    [
        "<merged>\n```python\ndef g():\n    return 3\n```\n</merged>",
        "```python\ndef g():\n    return 3\n```",
        "~~~~\ndef g():\n    return 3\n~~~~\n",
        "Here it is:\n<merged>\ndef g():\n    return 3\n</merged>\nThat is all.",
        "<merged>def g():\n    return 3</merged>",
    ],
)
def test_answer_in_a_fence_or_with_surrounding_text_is_read(drafting, file, answer):
    drafting(answer).done(file, "return 3", start=6, end=7)
    assert file.read_text() == TEXT.replace("return 2", "return 3")


def test_fences_and_tags_of_the_file_itself_are_kept(drafting, project):
    path = project / "a.md"
    path.write_text("```\nold </merged>\n```\n")
    drafting(merged("```\nnew </merged>\n```")).done(path, "new")
    assert path.read_text() == "```\nnew </merged>\n```\n"


def test_existing_comments_like_placeholders_may_stay(drafting, project):
    path = project / "a.py"
    path.write_text("# ... existing code ...\nx = 1\n")
    drafting(merged("# ... existing code ...\nx = 2")).done(path, "x = 2")
    assert path.read_text() == "# ... existing code ...\nx = 2\n"


@pytest.mark.parametrize("line", ["    ...", "# loop over the rest of the rows", "print('...')", "x = [...]  # why"])
def test_ordinary_lines_are_not_taken_for_placeholders(drafting, file, line):
    drafting(merged(line)).done(file, line, start=7, end=7)
    assert line in file.read_text()


def test_line_endings_encoding_and_missing_final_newline_are_preserved(drafting, project):
    path = project / "a.txt"
    path.write_bytes("\ufeffeins\r\nzwei\ndrei\r\nvier".encode())
    drafting(merged("eins\nneu\nzwei\ndrei\nfünf")).done(path, "neu … fünf")
    assert path.read_bytes() == "\ufeffeins\r\nneu\nzwei\ndrei\r\nfünf".encode()


def test_new_last_line_of_a_crlf_file_gets_its_line_ending(drafting, project):
    path = project / "a.txt"
    path.write_bytes(b"one\r\ntwo")
    drafting(merged("2\n3")).done(path, "2\n3", start=2)
    assert path.read_bytes() == b"one\r\n2\r\n3"


lines = st.lists(st.tuples(st.sampled_from(["a", "b", "é", " ", ""]), st.sampled_from(["\n", "\r\n"])), max_size=8)


@given(rows=lines, last=st.sampled_from(["", "end"]), new=st.lists(st.sampled_from("abx"), min_size=1), data=st.data())
@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_only_the_range_changes_and_equal_lines_keep_their_endings(rows, last, new, data):
    text = "".join(line + end for line, end in rows) + last
    count = len(rows) + bool(last)
    first = data.draw(st.integers(1, max(count, 1)))
    stop = data.draw(st.integers(first, max(count, 1)))
    whole = [line + end for line, end in rows] + ([last] if last else [])
    try:
        changed = replace_lines(text, first, stop, "\n".join(new)).text
    except EditorError:
        assert [line.rstrip("\r\n") for line in whole[first - 1 : stop]] == new
        return
    head, tail = "".join(whole[: first - 1]), "".join(whole[stop:])
    assert changed.startswith(head)
    assert changed.endswith(tail)
    inside = changed[len(head) : len(changed) - len(tail)]
    assert inside.replace("\r\n", "\n").removesuffix("\n") == "\n".join(new)
    assert inside.endswith("\n") == (stop < count or not last)


@pytest.mark.parametrize(
    ("path", "message"),
    [("folder", "is a directory"), ("/dev/zero", "a device"), ("binary", "binary file"), ("./a.py", "not absolute")],
)
def test_anything_the_editor_refuses_is_refused(drafting, project, path, message):
    (project / "folder").mkdir()
    (project / "binary").write_bytes(b"\x00\x01")
    hand = drafting(merged("x"))
    assert message in hand.refused(path if path[0] in "./" else project / path, "x", start=1, end=1)
    assert hand.merger.prompts == []


def test_interrupt_reaches_the_model(drafting):
    hand = drafting("")
    hand.tool.interrupt()
    assert hand.merger.interrupted


def test_tool_is_offered_only_with_a_model(tmp_path):
    assert open_tools(ToolContext(str(tmp_path)), ["edit_file"]) == {}
    tools = open_tools(ToolContext(str(tmp_path), None, Merger("")), ["edit_file"])
    assert list(tools) == ["edit_file"]
    assert not tools["edit_file"].is_read_only
    schema = tools["edit_file"].to_openai_tool()["function"]["parameters"]
    assert {name: part.get("default") for name, part in schema["properties"].items()} == {
        "security_risk": None,
        "summary": None,
        "path": None,
        "content": None,
        "start": 1,
        "end": -1,
    }


def test_missing_arguments_are_named(drafting):
    with pytest.raises(ArgumentError, match="`content` is missing"):
        drafting("").tool.action_from_arguments({"path": "/x"})
