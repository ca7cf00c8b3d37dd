import pytest

from tests.tools.editor import Editor
from workbench.tools.str_replace_editor.files import Files


@pytest.fixture(params=["kept on disk", "in memory"])
def either(request, project, tmp_path) -> Editor:
    return Editor(project, tmp_path / "other" if request.param == "kept on disk" else None)


def test_edits_are_undone_one_by_one(either, project):
    path = project / "a.txt"
    either.done("create", path, file_text="0\n")
    for number in range(3):
        either.done("str_replace", path, old_str=f"{number}\n", new_str=f"{number + 1}\n")
    for number in (2, 1, 0):
        either.done("undo_edit", path)
        assert path.read_text() == f"{number}\n"
    either.done("undo_edit", path)
    assert not path.exists()
    assert "no edit" in either.refused("undo_edit", path)


def test_ten_edits_can_be_undone(either, project):
    path = project / "a.txt"
    path.write_text("0\n")
    for number in range(14):
        either.done("str_replace", path, old_str=f"{number}\n", new_str=f"{number + 1}\n")
    for number in range(13, 3, -1):
        either.done("undo_edit", path)
        assert path.read_text() == f"{number}\n"
    assert "no edit" in either.refused("undo_edit", path)
    assert path.read_text() == "4\n"


def test_undo_survives_a_restart(project, tmp_path):
    path = project / "a.txt"
    first = Editor(project, tmp_path / "state")
    first.done("create", path, file_text="one\r\n")
    first.done("str_replace", path, old_str="one", new_str="two")
    first.tool.close()
    second = Editor(project, tmp_path / "state")
    second.done("undo_edit", path)
    assert path.read_bytes() == b"one\r\n"
    second.done("undo_edit", path)
    assert not path.exists()


def test_files_are_undone_independently(either, project):
    for name in ("a", "b"):
        either.done("create", project / name, file_text=f"{name}\n")
    either.done("str_replace", project / "a", old_str="a", new_str="x")
    either.done("undo_edit", project / "b")
    assert (project / "a").read_text() == "x\n"
    assert not (project / "b").exists()


def test_undo_never_loses_a_change_by_another_program(either, project):
    path = project / "a.txt"
    either.done("create", path, file_text="one\n")
    path.write_text("mine\n")
    assert "changed by something else" in either.refused("undo_edit", path)
    assert path.read_text() == "mine\n"
    path.unlink()
    assert "does not exist" in either.refused("undo_edit", path)


def test_undo_of_a_creation_keeps_a_file_emptied_by_another_program(either, project):
    path = project / "a.txt"
    either.done("create", path, file_text="one\n")
    path.write_text("")
    assert "changed by something else" in either.refused("undo_edit", path)
    assert path.exists()


def test_preview_of_an_undo_equals_its_effect(either, project):
    path = project / "a.txt"
    either.done("create", path, file_text="one\n")
    either.done("str_replace", path, old_str="one", new_str="two")
    (change,) = either.preview("undo_edit", path)
    assert (change.path, change.before, change.after) == (str(path), "two\n", "one\n")
    either.done("undo_edit", path)
    (change,) = either.preview("undo_edit", path)
    assert (change.before, change.after) == ("one\n", None)
    either.done("undo_edit", path)
    assert either.preview("undo_edit", path) == ()


def test_undo_step_of_an_edit_never_made_is_skipped(editor, project, tmp_path):
    path = project / "a.txt"
    editor.done("create", path, file_text="one\n")
    editor.done("str_replace", path, old_str="one", new_str="two")
    path.write_text("one\n")  # as if the machine had stopped between copy and write
    editor.done("undo_edit", path)
    assert not path.exists()


def test_undo_files_are_private(editor, project, tmp_path):
    editor.done("create", project / "a", file_text="one\n")
    editor.done("str_replace", project / "a", old_str="one", new_str="two")
    copies = [path for path in (tmp_path / "state" / "undo").rglob("*") if path.is_file()]
    assert len(copies) == 2
    assert all(path.stat().st_mode & 0o077 == 0 for path in copies)


def test_damaged_undo_step_is_ignored(editor, project, tmp_path):
    editor.done("create", project / "a", file_text="one\n")
    for copy in (tmp_path / "state" / "undo").rglob("1"):
        copy.write_bytes(b"\xff{")
    assert "no edit" in editor.refused("undo_edit", project / "a")
    assert (project / "a").exists()


def test_undo_step_truncated_by_a_power_failure_is_ignored(editor, project, tmp_path):
    path = project / "a.txt"
    path.write_text("one\nand more\n")
    editor.done("str_replace", path, old_str="one", new_str="two")
    for copy in (tmp_path / "state" / "undo").rglob("1"):
        copy.write_bytes(copy.read_bytes()[:-5])
    assert "no edit" in editor.refused("undo_edit", path)
    assert path.read_text() == "two\nand more\n"


def test_undo_step_of_a_large_file_is_small(editor, project, tmp_path):
    path = project / "large.txt"
    raw = b"".join(b"line %d\r\n" % number for number in range(50_000))
    path.write_bytes(raw)
    editor.done("str_replace", path, old_str="line 30000\n", new_str="another\n")
    sizes = [entry.stat().st_size for entry in (tmp_path / "state" / "undo").rglob("*") if entry.is_file()]
    assert sum(sizes) < 1_000
    editor.done("undo_edit", path)
    assert path.read_bytes() == raw


def test_missing_state_directory_prevents_edits(project, tmp_path):
    (tmp_path / "state").write_text("no folder")
    path = project / "a.txt"
    path.write_text("one\n")
    editor = Editor(project, tmp_path / "state")
    editor.done("view", path)
    assert "Nothing was changed" in editor.refused("str_replace", path, old_str="one", new_str="two")
    assert path.read_text() == "one\n"


def test_deleted_file_is_restored_with_its_mode(tmp_path):
    files, script = Files("/", tmp_path / "state"), tmp_path / "run.sh"
    script.write_text("true\n")
    script.chmod(0o750)
    plan = files.holding(script, "true\n", None)
    files.write(plan)
    assert not script.exists()
    assert files.revert([plan]) == []
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("true\n", 0o750)
