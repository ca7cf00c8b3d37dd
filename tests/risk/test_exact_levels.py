r"""Command lines with an exact expected rating: `level<TAB>line`; a line break in one is written as `\n`."""

from pathlib import Path

import pytest

from workbench.risk.actions import assess_foreign
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext

FILES = [
    Path(__file__).parent / "data" / name
    for name in (
        "levels.txt",
        "reaching.txt",
        "directories.txt",
        "verbs.txt",
        "told.txt",
        "services.txt",
        "classes.txt",
        "embedded.txt",
    )
]
WRITTEN = [line.split("\t", 1) for line in (Path(__file__).parent / "data/written.txt").read_text().splitlines()]
LINES = [line.split("\t", 1) for file in FILES for line in file.read_text().splitlines()]
PLACES = PathContext("/home/u/proj", "/home/u")


def test_command_lines_have_exactly_these_risks():
    rated = [(line, risk, assess_command(line.replace("\\n", "\n"), PLACES).risk) for risk, line in LINES]
    assert len(rated) > 1_600
    assert [row for row in rated if row[1] != row[2]] == []


@pytest.mark.parametrize(("risk", "line"), WRITTEN)
def test_written_scripts_and_edits_in_place_are_rated_by_content(risk, line):
    """A line break in a heredoc is written as `\\n`; elsewhere that is an escape of the line itself."""
    assert assess_command(line.replace("\\n", "\n") if "<<" in line else line, PLACES).risk == risk


def test_paths_below_tmpdir_are_rated_by_its_value(monkeypatch):
    monkeypatch.setenv("TMPDIR", "/home/u/notes")
    assert assess_command('rm -rf "$TMPDIR/x"', PLACES).risk == "HIGH"
    monkeypatch.setenv("TMPDIR", "/var/tmp/mine")
    assert assess_command('rm -rf "$TMPDIR/x"', PLACES).risk == "MEDIUM"


def test_descriptor_of_another_process_is_not_looked_up_in_ours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("x")
    places = PathContext(str(tmp_path), "/home/u")
    with (tmp_path / "a").open() as opened:
        number = opened.fileno()
        assert number > 2
        assert assess_command(f"cat /dev/fd/{number}", places).risk == "MEDIUM"
        assert assess_command(f"ls > /dev/fd/{number}", places).risk == "MEDIUM"
        for line in (f"cat /proc/self/fd/{number}", "cat /proc/self/cwd/a", "rm -rf /proc/self/cwd/a"):
            assert assess_command(line, places).risk == "HIGH"


@pytest.mark.parametrize(
    "shape", ["'' ; let " + "a[a[" * 500, "python3 - <<'E'\n" + "cd ..;" * 400, "'' ; " + "{a,b}" * 1_600]
)
def test_line_too_dense_to_analyze_in_time_is_high(shape):
    assert assess_command(shape, PLACES).risk == "HIGH"


@pytest.mark.parametrize(
    ("arguments", "hints"),
    [
        ({"text": "a\x1b[31m"}, {}),
        ({"url": "file:///etc/passwd"}, {}),
        ({"path": "~/.ssh/id_rsa"}, {}),
        ({}, {"destructiveHint": True}),
        ({}, {}),
    ],
)
def test_each_reason_about_a_servers_tool_names_the_server(arguments, hints):
    call = {"tool": "echo", "args": arguments, "annotations": hints, "call": "echo of the MCP server tracker"}
    rated = assess_foreign(call)
    assert rated.reasons
    assert all(reason.endswith(": echo of the MCP server tracker") for reason in rated.reasons)
