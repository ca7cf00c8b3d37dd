"""The analysis of random command lines compared with what bash runs; the same lines each time."""

from random import Random

import pytest

from tests.risk.fuzz.compare import PLACES, differences
from tests.risk.fuzz.grammar import Grammar
from tests.risk.fuzz.real_bash import commands_run
from workbench.risk.commands import assess_command

LINES = 1200
SEEDS = (20_26, 4, 77)


@pytest.mark.starts
def test_analysis_sees_each_command_that_bash_runs(tmp_path):
    grammars = [Grammar(Random(seed)) for seed in SEEDS]
    lines = [grammar.line() for grammar in grammars for _ in range(LINES // len(SEEDS))]
    ran = commands_run(lines, tmp_path)
    assert sum(map(len, ran)) > LINES  # the stubs were reached
    mismatches = differences(lines, ran)
    assert [each for each in mismatches if each.risk == "LOW"] == []
    assert len([each for each in mismatches if not each.unsure]) <= LINES // 1000, mismatches


@pytest.mark.starts
def test_commands_run_by_arithmetic_are_never_low(tmp_path):
    grammar = Grammar(Random(7))
    lines = [grammar.reckoning() for _ in range(200)]
    ran = commands_run(lines, tmp_path)
    assert sum(("frob", "v") in commands for commands in ran) > 50
    assert differences(lines, ran) == []


@pytest.mark.starts
def test_fuzzer_would_detect_a_missed_command(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.risk.shell.walk._beside", lambda scan, work, *, piped: None)
    lines = ["ls | frob a", "ls && frob a"]
    assert [each.ran for each in differences(lines, commands_run(lines, tmp_path))] == [("ls",)]


@pytest.mark.parametrize(
    "line",
    [
        "ls a\n\\rm -rf ~",
        "ls \\\n  b\n  \\rm -rf ~",
        "cat a <<E; rm -rf ~\nx\nE",
        "cat <<E'.x'\na\nE.x\nrm -rf ~",
        'cat <<"E-1"\na\nE-1\nrm -rf ~',
        "cat <<\\E\na\nE\nrm -rf ~",
        "cat <<E && ls; rm -rf ~\nx\nE",
        "cat <<E\n`rm -rf ~`\n$(ls)\nE",
        "echo $'\\\\' ; rm -rf ~ ; echo 'a'",
        "[ a ] && cat > out ~/.ssh/id_rsa",
        "ls && cat 2>&- .env",
        "x=1 > out rm -rf ~",
        "rm 2>&- -rf ~",
    ],
)
def test_lines_that_the_parser_misreads_are_high(line):
    assert assess_command(line, PLACES).risk == "HIGH"


@pytest.mark.parametrize("line", ["ls \\ a", "ls a\\", "grep 2>&1 \\  b"])
def test_text_that_the_parser_skips_is_never_low(line):
    assert assess_command(line, PLACES).risk != "LOW"


@pytest.mark.parametrize(
    "line",
    ["cat <<'EOF' > /dev/null\nit's\nEOF", "cat <<E\n$x\nE", "awk '{ print $1 }\n  \\\n' f", "ls 'a\\ b' \"c\\ d\""],
)
def test_plain_heredocs_and_escapes_stay_low(line):
    assert assess_command(line, PLACES).risk == "LOW"
