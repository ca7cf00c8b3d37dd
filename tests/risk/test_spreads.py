"""Words that the shell may split into several: if they may be options, operands or code, a line is not LOW."""

from pathlib import Path

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext

PLACES = PathContext("/home/u/proj", "/home/u")
LINES = [line.split("\t", 1) for line in (Path(__file__).parent / "data/spreads.txt").read_text().splitlines()]
"""`level<TAB>line`; MEDIUM stands for "not LOW"."""


def risk(line: str) -> str:
    return assess_command(line, PLACES).risk


def rated(level: str) -> dict[str, str]:
    return {line: risk(line) for its_level, line in LINES if its_level == level}


def test_word_that_may_become_an_option_output_or_code_is_not_low():
    ratings = rated("MEDIUM")
    assert len(ratings) >= 200
    assert [line for line, risk in ratings.items() if risk == "LOW"] == []


def test_word_known_to_run_write_or_send_something_is_high():
    ratings = rated("HIGH")
    assert len(ratings) >= 35
    assert [line for line, risk in ratings.items() if risk != "HIGH"] == []


def test_harmless_file_names_stay_low():
    ratings = rated("LOW")
    assert len(ratings) >= 80
    assert [line for line, risk in ratings.items() if risk != "LOW"] == []


@pytest.mark.parametrize(
    ("known", "written"),
    [
        ("n='1 x'; uniq -f $n a", "uniq -f 1 x a"),
        ("n='1 x'; uniq -f ${n} a", "uniq -f 1 x a"),
        ("o='-n -r'; sort $o a", "sort -n -r a"),
        ("o='-o b'; sort $o a", "sort -o b a"),
        ("f='a .env'; cat $f", "cat a .env"),
        ("f=' a  b '; cat $f", "cat a b"),
        ("f='-rf ~/x'; rm $f", "rm -rf '~/x'"),
        ("g='*'; uniq $g", "uniq *"),
        ("d=dist; o='-l -a'; ls $o $d", "ls -l -a dist"),
    ],
)
def test_known_value_is_rated_as_the_words_it_expands_to(known, written):
    assert risk(known) == risk(f"true; {written}")


@pytest.mark.parametrize("line", ["n='1 x'; uniq -f \"$n\" a", "n='1 x'; head -n \"$n\" a"])
def test_quoted_value_stays_one_word(line):
    assert risk(line) == "LOW"


@pytest.mark.parametrize(
    ("glob", "level"),
    [("*", "MEDIUM"), ("?x", "MEDIUM"), ("[!a]x", "MEDIUM"), ("[^a]x", "MEDIUM"), ("[a-]x", "MEDIUM"),
     ("[+-/]x", "MEDIUM"), ("[[:punct:]]x", "MEDIUM"), ("\\\\*", "LOW"), ("[a-c]*", "LOW"), ("a*", "LOW"),
     ("./*", "LOW"), ("'*'", "LOW"), ("\\*", "LOW")],
)  # fmt: skip
def test_glob_counts_as_an_option_only_if_a_match_may_begin_with_a_dash(glob, level):
    assert risk(f"sort {glob}") == level
