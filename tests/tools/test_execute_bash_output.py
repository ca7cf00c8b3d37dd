"""The parts of execute_bash, each tested alone."""

import resource
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.shells import Bash
from workbench.processes.shell_environment import shell_environment
from workbench.tools.execute_bash import messages as keys
from workbench.tools.execute_bash import rc
from workbench.tools.execute_bash.output import Cleaner, clean
from workbench.tools.execute_bash.prompt import Mark, MarkScanner
from workbench.tools.execute_bash.shell import Shell
from workbench.tools.execute_bash.stream import OutputBuffer, Stream
from workbench.tools.execute_bash.wait import Outcome, Watch

MARKER = b"\x1b]133;D;42;3;/a;b\x1f/bin:/usr/bin\x1f:posix:;42\x07"


@pytest.mark.parametrize(
    ("text", "sent"),
    [("C-c", b"\x03"), ("C-Z", b"\x1a"), ("ENTER", b"\n"), ("BS", b"\x7f"), ("UP", b"\x1b[A"), ("yes", b"yes\n")],
)
def test_key_is_typed_as_its_bytes_and_text_with_enter(text: str, sent: bytes) -> None:
    assert keys.typed(text) == sent


def test_enter_is_a_carriage_return_for_programs_that_read_keys() -> None:
    typed = {text: keys.typed(text, by_line=False) for text in ("ENTER", "C-j", "a\nb")}
    assert typed == {"ENTER": b"\r", "C-j": b"\n", "a\nb": b"a\rb\r"}


@pytest.mark.parametrize("command", ["it's", "a\nb\t\\c", "\x01\x7f\x03", "ü €", "\\n", "$'x' \"y\" `z` $(w) !1"])
def test_command_is_one_line_that_bash_reads_back_exactly(command: str) -> None:
    line = rc.quoted(command)
    assert "\n" not in line
    done = subprocess.run(["bash", "-c", f"printf %s {line}"], capture_output=True, check=True)
    assert done.stdout.decode() == command


@given(st.lists(st.integers(1, 80), max_size=30), st.binary(max_size=40))
def test_marker_is_found_wherever_the_stream_is_split(cuts: list[int], noise: bytes) -> None:
    noise = noise.replace(b"\x1b", b"")
    scanner = MarkScanner("42")
    data = noise + MARKER + b"later"
    parts = []
    at = 0
    for cut in [*cuts, len(data)]:
        parts += scanner.feed(data[at : at + cut])
        at += cut
    marks = [part for part in parts if isinstance(part, Mark)]
    assert marks == [Mark(3, False, "/a;b", "/bin:/usr/bin")]
    assert b"".join(part for part in parts if isinstance(part, bytes)) + scanner.flush() == noise + b"later"


@pytest.mark.parametrize("forged", [MARKER.replace(b"42", b"43"), MARKER.replace(b"42", b"0"), b"\x1b]133;D;0\x07"])
def test_marker_with_another_nonce_is_output(forged: bytes) -> None:
    parts = MarkScanner("42").feed(forged)
    assert parts == [forged]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("100%\rab\n", "ab0%\n"),
        ("long line\r\x1b[Kshort\n", "short\n"),
        ("long line\x1b[2K\rshort\n", "short\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("abc\b\bX\n", "aXc\n"),
        ("N\bNA\bAME", "NAME"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]0;no end\nkept\n", "\nkept\n"),
        ("\x1bP1;2q...\x1b\\x", "x"),
        ("a\x00b\x07c\x9bd", "abcd"),
        ("\x1b(Bx\x1b=y\x1b7z", "xyz"),
        ("tab\tstays", "tab\tstays"),
    ],
)
def test_output_reads_as_a_terminal_would_show_it(raw: str, expected: str) -> None:
    assert clean(raw) == expected


@given(st.text(alphabet="ab\r\b\n\x1b[]0;Km?h\x07ü\x9b\x00", max_size=80), st.integers(1, 9))
def test_cleaning_does_not_depend_on_chunk_boundaries(text: str, step: int) -> None:
    data = text.encode()
    whole, cut = Cleaner(), Cleaner()
    first = whole.feed(data) + whole.flush()
    second = "".join(cut.feed(data[at : at + step]) for at in range(0, len(data), step)) + cut.flush()
    assert first == second
    assert not set(first) & {"\x1b", "\r", "\b", "\x00", "\x07", "\x9b"}


def test_invalid_utf8_is_replaced() -> None:
    cleaner = Cleaner()
    assert cleaner.feed(b"a\xff\xc3") + cleaner.feed(b"\xbcb\n") == "a\ufffdüb\n"


def test_endless_line_is_not_held_back_forever() -> None:
    cleaner = Cleaner()
    passed = sum(len(cleaner.feed(b"x" * 4096)) for _ in range(256))
    assert passed >= (1 << 20) - (1 << 17)


def test_endless_progress_bar_is_one_line_in_bounded_memory() -> None:
    cleaner = Cleaner()
    passed = "".join(cleaner.feed(f"\r\x1b[K{number:8} of 200000".encode()) for number in range(200_000))
    assert passed == ""
    assert cleaner.feed(b"\rdone\x1b[K\n") == "done\n"


@pytest.mark.parametrize("piece", [1, 7, 4096, 10**6])
def test_cut_output_names_its_file_and_the_omitted_lines(tmp_path: Path, piece: int) -> None:
    text = "".join(f"line {number}\n" for number in range(2000))
    buffer = OutputBuffer(tmp_path / "outputs", limit=1000)
    for at in range(0, len(text), piece):
        buffer.add(text[at : at + piece])
    output = buffer.collect()
    assert output.file is not None
    assert Path(output.file).read_text() == text
    head, _, rest = output.text.partition("[… ")
    notice, _, tail = rest.partition(" …]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert output.file in notice
    assert int(notice.split()[0]) == 2000 - head.count("\n") - tail.count("\n")
    assert len(head) + len(tail) <= 1000


def test_short_output_is_complete_without_a_file(tmp_path: Path) -> None:
    buffer = OutputBuffer(tmp_path / "outputs", limit=1000)
    for _ in range(100):
        buffer.add("0123456789")
    assert buffer.collect().text == "0123456789" * 100
    assert not (tmp_path / "outputs").exists()


def test_output_without_a_directory_for_its_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "outputs").write_text("in the way")
    buffer = OutputBuffer(tmp_path / "outputs", limit=100)
    buffer.add("x\n" * 500)
    output = buffer.collect()
    assert output.file is None
    assert "could not be saved in a file" in output.text


def test_output_file_has_a_maximum_size_that_is_reported(tmp_path: Path) -> None:
    buffer = OutputBuffer(tmp_path / "outputs", limit=100, largest=1000)
    for number in range(500):
        buffer.add(f"line {number}\n")
    assert buffer.overflowed
    output = buffer.collect()
    assert output.file is not None
    size = Path(output.file).stat().st_size
    assert 1000 <= size < 1100
    assert f"only its first {size} characters are there" in output.text
    assert output.text.endswith("line 499\n")


def test_full_disk_does_not_end_the_output(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        buffer = OutputBuffer(tmp_path / "outputs", limit=100)
        for number in range(5000):
            buffer.add(f"line {number}\n")
        output = buffer.collect()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert output.text.endswith("line 4999\n")
    assert "only its first part is there" in output.text


def test_endless_output_without_a_timeout_returns(tmp_path: Path) -> None:
    shell = Shell(str(tmp_path), tmp_path, tmp_path / "outputs")
    try:
        with shell.acquire():
            shell.run("yes")
            shell.stream = Stream(tmp_path / "outputs", largest=200_000)
            assert Watch(shell, 30, None, threading.Event()).wait() is Outcome.FLOOD
    finally:
        shell.close()
    assert sum(path.stat().st_size for path in (tmp_path / "outputs").iterdir()) < 1_000_000


def test_keys_and_bash_variables_are_not_in_the_environment() -> None:
    given_env = {
        "HOME": "/h", "PATH": "/bin", "OPENAI_API_KEY": "1", "OHW_API_KEY": "2", "GITHUB_TOKEN": "3", "MINE": "4",
        "AWS_SECRET_ACCESS_KEY": "5", "BASH_ENV": "6", "PS1": "7", "TERM": "xterm", "PAGER": "less", "MONKEY": "8",
    }  # fmt: skip
    env = shell_environment(given_env, "n1", hidden={"MINE"})
    assert {name: env[name] for name in ("HOME", "PATH", "MONKEY")} == {"HOME": "/h", "PATH": "/bin", "MONKEY": "8"}
    assert not {"1", "2", "3", "4", "5", "6", "7"} & set(env.values()) - {env["VIRTUAL_ENV_DISABLE_PROMPT"]}
    assert (env["TERM"], env["PAGER"], env["GIT_PAGER"], env["OHW_SHELL"]) == ("dumb", "cat", "cat", "n1")


def test_long_command_is_not_written_through_a_link(tmp_path, monkeypatch):
    theirs = tmp_path / "theirs"
    theirs.write_text("mine\n")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    bash = Bash(tmp_path)
    try:
        bash("true")
        nonces = {path.name.rpartition("-")[2] for path in tmp_path.glob("ohw-*/*")}
        for directory in tmp_path.glob("ohw-*"):
            for nonce in nonces:
                (directory / f"command-{nonce}").symlink_to(theirs)
        assert bash(f"echo {'x' * 4_000}").exit_code == 0
    finally:
        bash.tool.close()
    assert nonces
    assert theirs.read_text() == "mine\n"
