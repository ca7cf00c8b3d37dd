"""The table of what may differ between two runs: each rule makes such texts equal, and hides nothing else."""

from __future__ import annotations

import pytest

from workbench.session.replay.divergence import difference
from workbench.session.replay.normalizing import RULES, Normalizer

NORMALIZER = Normalizer({"/home/me/app": "<workspace>", "/x/replay/app": "<workspace>", "/tmp": "<temp>"})

SAME = {
    "times": [
        ("started 2026-01-02T03:04:05Z", "started 2027-11-12T13:14:15.123Z"),
        ("2026-01-02 03:04:05,123 INFO up", "2026-01-02 03:04:06,456 INFO up"),
        ("Sat Nov 28 06:54:21 UTC 2026", "Sun Dec  6 16:04:01 UTC 2026"),
        ("Sat, 28 Nov 2026 06:54:21 +0000", "Sun, 29 Nov 2026 16:04:01 +0000"),
        ("-rw-r--r-- 1 me me 5 Nov 28 06:54 a.txt", "-rw-r--r-- 1 me me 5 Jan  2  2027 a.txt"),
        ("at 12:34:56 sharp", "at 1:02:03.5 sharp"),
        ("epoch 1790000000", "epoch 1790000017.25"),
        ("today is 2026-11-28", "today is 2026-11-29"),
    ],
    "durations": [
        ("1 passed in 0.02s", "1 passed in 1.37s"),
        ("real\t0m0.201s", "real\t1m10.313s"),
        ("took 12 ms", "took 13.5 ms"),
        ("Finished in 3 seconds", "Finished in 11 seconds"),
    ],
    "pids": [
        ("pid 4711", "pid 99"),
        ("PID: 4711", "PID: 12"),
        ("[1] 4711", "[1] 4712"),
        ("process id=3", "process id=44"),
    ],
    "ports": [
        ("on http://127.0.0.1:43121/x", "on http://127.0.0.1:8080/x"),
        ("localhost:3000", "localhost:3001"),
        ("listening on port 5000", "listening on port 50123"),
    ],
    "temporary paths": [
        ("/tmp/tmp.Zx81jQpa2s", "/tmp/tmp.A1b2C3d4E5"),
        ("/tmp/tmpab12cd34/x", "/tmp/tmpzz99yy88/x"),
        ("/tmp/pytest-of-me/pytest-3/a", "/tmp/pytest-of-me/pytest-17/a"),
    ],
    "directories": [
        ("in /home/me/app/src", "in /x/replay/app/src"),
        ("rootdir: /home/me/app", "rootdir: /x/replay/app"),
    ],
    "addresses in memory": [("<object at 0x7f1c2a3b4c5d>", "<object at 0x55d0aabbcc>")],
    "ids of commits": [
        ("commit 0123456789012345678901234567890123456789", "commit 9876543210987654321098765432109876543210"),
        ("[main 1a2b3c4] second", "[main 4d5e6f7] second"),
        ("[main (root-commit) 1a2b3c4] first", "[main (root-commit) 4d5e6f7] first"),
        ("1a2b3c4 (HEAD -> main) second", "4d5e6f7 (HEAD -> main) second"),
    ],
    "directories in a listing": [
        ("total 36\n-rw-r--r-- 1 me me 32 Nov 28 07:42 a", "total 20\n-rw-r--r-- 1 me me 32 Nov 28 07:42 a"),
        ("drwxr-xr-x   7 me me  4096 Nov 28 07:42 .git", "drwxr-xr-x 6 me me 120 Nov 28 07:42 .git"),
    ],
    "columns of a listing": [
        ("-rw-r--r--   1 me me    32 Nov 28 07:42 calc.py", "-rw-r--r-- 1 me me 32 Nov 29 17:42 calc.py"),
    ],
    "the interpreter of the shell": [
        ("[Python interpreter: /usr/bin/python]", "[Python interpreter: /home/me/.venv/bin/python]"),
    ],
    "files with a whole output": [("see <data>/outputs/output-76c4dec1.txt", "see <data>/outputs/output-9cf2b537.txt")],
    "the directory above": [
        ("drwxr-xr-x 4 root root 4096 Nov 28 07:34 ..", "drwxrwxrwt 3 me me 80 Nov 29 07:34 .."),
    ],
    "random ids": [
        ("id 123e4567-e89b-12d3-a456-426614174000", "id 00000000-e89b-12d3-a456-426614174001"),
    ],
    "lines drawn to the width of the terminal": [
        ("===== 1 passed in 0.02s =====", "==== 1 passed in 10.02s ===="),
        ("----------", "-------------"),
    ],
}
LISTING = ("drwxr-xr-x 3 me me 4096 Nov 28 07:42 .", "-rw-r--r-- 1 me me 32 Nov 28 07:42 calc.py")
DIFFERENT = [
    ("1 passed", "2 passed"),
    ("exit code 0", "exit code 1"),
    ("total 5", "total 6"),
    ("/home/me/app-two/a", "/x/replay/app/a"),
    ("/tmp/report.txt", "/tmp/other.txt"),
    ("version 1.2.3", "version 1.2.4"),
    ("line 12", "line 13"),
    ("a - b", "a -- b"),
    ("da39a3ee5e6b4b0d3255bfef95601890afd80709  a", "0a39a3ee5e6b4b0d3255bfef95601890afd80709  a"),
    ("3 items", "4 items"),
    ("x = 0x1f", "x = 0x2f"),
    ("-rw-r--r-- 1 me me 32 Nov 28 07:42 a", "-rw-r--r-- 1 me me 33 Nov 28 07:42 a"),
    ("-rw-r--r-- 1 me me 32 Nov 28 07:42 a", "-rwxr-xr-x 1 me me 32 Nov 28 07:42 a"),
    ("drwxr-xr-x 4 me me 4096 Nov 28 07:34 a", "drwx------ 4 me me 4096 Nov 28 07:34 a"),
]


@pytest.mark.parametrize(("name", "one", "other"), [(name, *pair) for name, pairs in SAME.items() for pair in pairs])
def test_texts_that_may_differ_are_equal(name: str, one: str, other: str):
    assert NORMALIZER.text(one) == NORMALIZER.text(other)
    assert one != other


def test_every_rule_has_an_example():
    assert {rule.name for rule in RULES} | {"directories"} == set(SAME)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_everything_else_counts(one: str, other: str):
    assert NORMALIZER.text(one) != NORMALIZER.text(other)


def test_field_that_may_differ_is_not_compared_and_the_shell_is_known_by_its_process():
    one = {"content": [{"type": "text", "text": "I am 4711"}], "metadata": {"pid": 4711, "exit_code": 0}}
    other = {"content": [{"type": "text", "text": "I am 12"}], "metadata": {"pid": 12, "exit_code": 1}}
    lines = [NORMALIZER.lines(each, [4711, 12]) for each in (one, other)]
    assert difference(*lines) == (" I am 4711", "-metadata.exit_code: 0", "+metadata.exit_code: 1")


def test_equal_numbers_stay_equal_if_some_are_the_process_of_a_shell():
    numbers = "\n".join(map(str, range(10, 30)))
    lines = [NORMALIZER.lines(text, [12, 13]) for text in (numbers, numbers, numbers.replace("20", "21"))]
    assert difference(lines[0], lines[1]) == ()
    assert difference(NORMALIZER.lines(numbers, [12, 13]), lines[2])[2:4] == ("-20", "+21")


def test_total_of_a_listing_may_differ_and_one_of_a_program_counts():
    one, other = ("\n".join((f"total {number}", *lines)) for number, lines in ((36, LISTING), (20, LISTING)))
    assert difference(NORMALIZER.lines(one), NORMALIZER.lines(other)) == ()
    assert difference(NORMALIZER.lines("total 36\nok"), NORMALIZER.lines("total 20\nok")) != ()


def test_difference_shows_the_lines_as_they_are_with_those_around_them():
    one, other = (f"a\nb\nin 0.1s\n{word}\nd\ne\nf\n" for word in ("old", "new"))
    lines = [NORMALIZER.lines(text) for text in (one, other.replace("0.1s", "0.2s"))]
    assert difference(*lines) == (" b", " in 0.1s", "-old", "+new", " d", " e")
