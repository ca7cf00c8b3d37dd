"""Reverting changes by the user: a file is restored only if it holds what was shown; log and agent learn of it."""

from pathlib import Path

import pytest

from tests.session.fake_agent import calls, faults_of, says
from workbench.protocol.events import FileDelta
from workbench.session.workspace.revert import RevertError


def files(*changes: tuple[Path, str | None, str | None]) -> tuple[FileDelta, ...]:
    return tuple(FileDelta(path=str(path), before=before, after=after) for path, before, after in changes)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("new\n")
    return path


def test_reverted_file_has_its_earlier_content(harness, written):
    written.chmod(0o640)
    one = harness()
    one.session.files.revert(files((written, "new\n", "old\n")))
    assert written.read_text() == "old\n"
    assert written.stat().st_mode & 0o777 == 0o640
    (event,) = (event for event in one.log() if event.kind == "files_changed")
    assert (event.by, event.files) == ("person", files((written, "new\n", "old\n")))


def test_reverting_deletes_a_new_file_and_restores_a_deleted_one(harness, written):
    one, gone = harness(), written.parent / "sub/gone.txt"
    one.session.files.revert(files((written, "new\n", None), (gone, None, "was here\n")))
    assert not written.exists()
    assert gone.read_text() == "was here\n"


@pytest.mark.parametrize(
    "raw", ["ä\r\nb\r\n".encode(), "ä\n".encode("utf-16"), "\ufeffä\n".encode(), "ä\n".encode("latin-1")]
)
def test_reverted_file_keeps_its_encoding_and_line_endings(harness, written, raw):
    written.write_bytes(raw)
    text = "ä\r\nb\r\n" if b"\r" in raw else "ä\n"
    one = harness()
    one.session.files.revert(files((written, text, text + "ü")))
    one.session.files.revert(files((written, text + "ü", text)))
    assert written.read_bytes() == raw


@pytest.mark.parametrize(
    ("encoding", "before", "after"),
    [
        ("cp1251", "Привет, мир\n", "я\n"),
        ("koi8-r", "ю\n", "Привет, мир\n"),
        ("shift_jis", "日本語のテキスト\n", "世\n"),
        ("gbk", "你好，世界\n", "你\n"),
        ("euc_kr", "안녕하세요\n", "세\n"),
        ("utf-16-le", "Привет, мир\n", "п\n"),
    ],
    ids=["cp1251", "koi8-r", "shift_jis", "gbk", "euc_kr", "utf-16-le"],
)
def test_a_revert_is_written_in_the_encoding_in_which_the_file_holds_what_was_shown(
    harness, written, encoding, before, after
):
    """Content too short to determine its encoding is compared with the text that was shown."""
    written.write_bytes(after.encode(encoding))
    harness().session.files.revert(files((written, after, before)))
    assert written.read_bytes() == before.encode(encoding)


def test_file_changed_since_it_was_shown_prevents_the_whole_revert(harness, written):
    other = written.parent / "b.txt"
    other.write_text("something else\n")
    one = harness()
    with pytest.raises(RevertError, match=r"b\.txt has changed since"):
        one.session.files.revert(files((written, "new\n", "old\n"), (other, "new\n", "old\n")))
    assert (written.read_text(), other.read_text()) == ("new\n", "something else\n")
    assert "files_changed" not in one.kinds()


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        (FileDelta(path="a.txt", before="x", after="y"), "not an absolute path"),
        (FileDelta(path="/tmp", before="x", after="y"), "directory"),
        (FileDelta(path="/dev/null", before="x", after="y"), "device"),
        (FileDelta(path="/tmp/x", before="x", after="y", cut="binary"), "binary"),
    ],
)
def test_anything_but_a_text_file_is_refused(harness, delta, message):
    with pytest.raises(RevertError, match=message):
        harness().session.files.revert([delta])


def test_files_written_before_a_failure_are_in_the_log(harness, written):
    directory = written.parent / "shut"
    directory.write_text("no folder")
    one = harness()
    changes = files((written, "new\n", "old\n"), (directory / "x" / "y.txt", None, "old\n"))
    with pytest.raises(RevertError, match=r"could not be (read|written)"):
        one.session.files.revert(changes)
    assert [event.files for event in one.log() if event.kind == "files_changed"] in ([], [changes[:1]])


def test_nothing_is_reverted_while_an_action_may_write(harness, written):
    one = harness(calls(("hang", {})), mode="never")
    refused: list[str] = []

    def try_it(event) -> None:
        if event.kind == "action_started":
            with pytest.raises(RevertError) as error:
                one.session.files.revert(files((written, "new\n", "old\n")))
            refused.append(str(error.value))
            one.hang.released.set()

    one.hook = try_it
    one.session.send("go")
    one.run()
    assert "runs now" in refused[0]
    assert written.read_text() == "new\n"


def test_model_is_notified_of_a_revert_in_one_line(harness, written):
    one = harness(calls(("look", {})), says("done"), says("I see"))
    one.session.send("go")
    one.run()
    one.session.files.revert(files((written, "new\n", "old\n")))
    one.session.send("go on")
    one.run()
    *_, note, asked = one.agent.requests[-1]
    assert note == {
        "role": "user",
        "content": f"[The user reverted changes in {written}. View a file before you edit it.]",
    }
    assert asked["content"] == "go on"
    assert not faults_of(one.agent.requests[-1])
