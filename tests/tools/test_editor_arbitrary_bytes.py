"""Whatever a file contains, an edit changes only its own place or nothing at all, and undo restores every byte."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.tools.editor import Editor

MARK = b"<<here>>"
ENCODINGS = ("utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "shift_jis", "koi8-r")
QUIET = settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
words = st.text(max_size=30)
encoded = st.tuples(words, st.sampled_from(ENCODINGS)).map(lambda given: given[0].encode(given[1], "ignore"))
pieces = st.one_of(st.binary(max_size=30), encoded, st.sampled_from([b"\r\n", b"\n", b"\r", b"\x00", b"\xef\xbb\xbf"]))
raw_files = st.lists(pieces, max_size=4).map(b"".join)


@given(head=raw_files, tail=raw_files)
@QUIET
def test_edit_of_any_bytes_changes_only_its_range_or_is_refused(head, tail):
    raw = head + MARK + tail
    assume(raw.count(MARK) == 1)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file"
        path.write_bytes(raw)
        editor = Editor(Path(directory))
        if editor.run("str_replace", path, old_str=MARK.decode(), new_str="<<there>>").is_error:
            assert path.read_bytes() == raw
            return
        assert path.read_bytes() == head + b"<<there>>" + tail
        editor.done("undo_edit", path)
        assert path.read_bytes() == raw


@given(text=words, encoding=st.sampled_from(["latin-1", "cp1252", "utf-8", "utf-8-sig", "utf-16", "utf-32"]))
@QUIET
def test_text_is_edited_in_its_own_encoding_or_not_at_all(text, encoding):
    text = text.encode(encoding, "ignore").decode(encoding)
    raw = f"{text}{MARK.decode()}{text}".encode(encoding)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "file"
        path.write_bytes(raw)
        result = Editor(Path(directory)).run("str_replace", path, old_str=MARK.decode(), new_str="x")
        assert path.read_bytes() == (raw if result.is_error else f"{text}x{text}".encode(encoding))


class Edits(RuleBasedStateMachine):
    """Edits of one file, restarts and changes by others, compared with a plain list of its versions."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.directory = Path(self.place.name)
        self.path = self.directory / "file.txt"
        self.versions: list[bytes | None] = [None]
        self.restart()

    @property
    def now(self) -> bytes | None:
        return self.path.read_bytes() if self.path.exists() else None

    @rule()
    def restart(self) -> None:
        self.editor = Editor(self.directory, self.directory / "state")

    @rule(text=st.sampled_from(["", "one\n", "one\r\ntwo\r\n", "é\nlast", "x\n" * 40]))
    def create(self, text: str) -> None:
        if self.editor.run("create", self.path, file_text=text).is_error:
            assert self.now is not None
        else:
            self.versions.append(text.encode())

    @precondition(lambda self: self.now is not None)
    @rule(line=st.integers(0, 5), text=st.sampled_from(["new", "a\nb\n", "é"]))
    def insert(self, line: int, text: str) -> None:
        if not self.editor.run("insert", self.path, insert_line=line, new_str=text).is_error:
            self.versions.append(self.now)

    @precondition(lambda self: self.now is not None)
    @rule(old=st.sampled_from(["one", "two", "new\n", "é"]), new=st.sampled_from(["", "1\n2", "é"]))
    def replace(self, old: str, new: str) -> None:
        if not self.editor.run("str_replace", self.path, old_str=old, new_str=new).is_error:
            self.versions.append(self.now)

    @rule()
    def undo(self) -> None:
        if self.editor.run("undo_edit", self.path).is_error:
            assert len(self.versions) == 1
        else:
            self.versions.pop()

    @precondition(lambda self: self.now is not None)
    @rule()
    def change_by_somebody_else(self) -> None:
        theirs = (self.now or b"") + b"theirs\n"
        self.path.write_bytes(theirs)
        for command, more in (("undo_edit", {}), ("str_replace", {"old_str": "theirs\n", "new_str": ""})):
            self.editor.refused(command, self.path, **more)
            assert self.path.read_bytes() == theirs
        self.path.write_bytes(self.versions[-1] or b"")

    @invariant()
    def the_file_is_the_last_version(self) -> None:
        assert self.now == self.versions[-1]
        del self.versions[:-11]  # ten can be undone

    def teardown(self) -> None:
        self.place.cleanup()


TestEdits = Edits.TestCase
TestEdits.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
