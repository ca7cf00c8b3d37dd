r"""Command lines with an exact expected rating: `level<TAB>line`; a line break in one is written as `\n`."""

import time
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


SLOW = {
    "blanks": "for " + " " * 9_970 + "; do rm $i; done",
    "zeros": "\0" * 10_000,
    "open string of awk": "awk '" + '\\" ' * 3_300 + "'",
    "slashes of awk": "awk '" + "\\/" * 4_900 + "'",
    "parents": "git " + "../" * 3_300,
    "braces": "echo " + "{" * 4_900 + "}" * 4_900,
    "test": "[[ " + '\\" ' * 3_300 + " ]]",
    "test of words": "[[ " + "'a' " * 2_490,
    "arithmetic": "(( " + "'\"'\"' " * 1_660 + " ))",
    "expansions in a heredoc": "cat <<X\n" + "$a " * 3_300 + "\nX\n",
    "substitutions in a heredoc": "sh <<X\n" + "x=$(a);" * 1_400 + "\nX\n",
    "statements of Python": "python3 -c '" + "a\n" * 4_990 + "'",
    "marks of Python": "python3 -c '" + "? " * 4_990 + "'",
    "letters": "awk '" + "-a " * 3_300 + "'",
}


@pytest.mark.parametrize("family", SLOW)
def test_long_odd_line_is_rated_in_a_few_milliseconds(family):
    """Each of these once took 10 to 1,250 ms; the promise is 5 ms, and the limit here allows for slow machines."""
    times = []
    for _ in range(3):
        began = time.process_time()
        assess_command(SLOW[family], PLACES)
        times.append(time.process_time() - began)
    assert min(times) < 0.04


def test_long_but_ordinary_lines_are_still_analyzed():
    tests = 'if [[ "$a" == b && -n "$c" ]]; then echo "$d"; fi\n' * 15
    heredoc = "cat <<E\n" + "plain words and $one variable\n" * 60 + "E\n"
    code = "python3 - <<'E'\n" + "print(sorted(x for x in range(9)))\n" * 40 + "E\n"
    awk = "awk '" + '$1 ~ /a/ { n["x"] += $2 / 3; print "it", $1 }\n' * 30 + "' data"
    assert [assess_command(line, PLACES).risk for line in (tests, heredoc, awk)] == ["LOW"] * 3
    assert assess_command(code, PLACES).risk == "MEDIUM"


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
