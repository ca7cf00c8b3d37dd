"""Paths of a directory become those of another one; those of a directory with a similar name do not."""

from __future__ import annotations

import pytest

from workbench.session.relocator import Relocator

RELOCATOR = Relocator(["/x/m"], "/y")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("echo 1 > /x/m/a.txt", "echo 1 > /y/a.txt"),
        ("cd '/x/m' && ls", "cd '/y' && ls"),
        ("PATH=/x/m/bin:/x/m", "PATH=/y/bin:/y"),
        ("It is in /x/m. Look at `/x/m`, or /x/m\x1b[0m!", "It is in /y. Look at `/y`, or /y\x1b[0m!"),
        (r"print('/x/m\n')", r"print('/y\n')"),
    ],
)
def test_paths_are_moved(before: str, after: str):
    assert RELOCATOR.text(before) == after


@pytest.mark.parametrize(
    "path",
    ["/x/m2", "/x/m-2", "/x/m.bak", "/x/m+k/a", "/x/m~", "/x/m@2", "/x/m\\ two", "/x/m(2)", "${A}/x/m", "/a/x/m"],
)
def test_similar_paths_are_not_moved(path: str):
    assert RELOCATOR.text(path) == path


@pytest.mark.parametrize(
    "command", ["cat /x/m/a>/x/m/b; ls /x/m", "cat '/x/m'/a", "make --directory=/x/m", "ls /x/m+k /x/m2", "ls"]
)
def test_words_of_a_command_are_certain(command: str):
    assert RELOCATOR.is_certain({"command": command})


@pytest.mark.parametrize(
    "command",
    [
        "cat '/x/m two/a'",
        "cat /x/m' two'/a",
        "cat /x/m\\ two/a",
        "bash -c 'cat /x/m/a'",
        "cat ${A}/x/m/a",
        "ls /x/m*",
        "ls /x/m{,2}",
        "ls '/x/m",
    ],
)
def test_other_mentions_in_a_command_are_not_certain(command: str):
    assert not RELOCATOR.is_certain({"command": command})


def test_another_argument_is_certain_only_as_a_whole():
    assert RELOCATOR.is_certain({"path": "/x/m/a b", "paths": ["/x/m"], "lines": [1, 2]})
    assert not RELOCATOR.is_certain({"path": "/x/m two/a"})
    assert not RELOCATOR.is_certain({"text": "in /x/m"})
