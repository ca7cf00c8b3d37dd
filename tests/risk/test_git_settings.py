"""Settings are parsed as git does, and no change that redirects commits or runs something is rated harmless."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.risk.git_settings import hooks_paths, included, is_harmless, parsed

BEFORE = '[remote "origin"]\n\turl = https://example.org/x.git\n[branch "main"]\n\tremote = origin\n'
REDIRECTED = {
    "an existing remote": BEFORE.replace("example.org", "evil.example"),
    "an existing branch, to a URL": BEFORE.replace("= origin", "= https://evil.example/x"),
    "an existing branch, to a new remote": BEFORE.replace("= origin", "= evil")
    + '[remote "evil"]\n\turl = https://evil.example/x\n',
    "a new branch, to a URL": f'{BEFORE}[branch "topic"]\n\tremote = https://evil.example/x\n',
    "a new branch, to a directory": f'{BEFORE}[branch "topic"]\n\tremote = ../evil\n',
    "all pushes": f"{BEFORE}[remote]\n\tpushDefault = evil\n",
    "the pushes of a branch": BEFORE + "\tpushRemote = https://evil.example/x\n",
    "a second address for pushes": f'{BEFORE}[remote "origin"]\n\tpushurl = https://evil.example/x\n',
    "every address": f'{BEFORE}[url "https://evil.example/"]\n\tinsteadOf = https://example.org/\n',
}
HARMLESS = {
    "a new remote": f'{BEFORE}[remote "fork"]\n\turl = https://example.org/y.git\n',
    "a new branch that follows a remote": f'{BEFORE}[branch "topic"]\n\tremote = origin\n\tmerge = refs/heads/topic\n',
    "a new branch that follows another one": f'{BEFORE}[branch "topic"]\n\tremote = .\n\tmerge = refs/heads/main\n',
    "a removed branch": BEFORE.partition("[branch")[0],
}


@pytest.mark.parametrize("after", REDIRECTED.values(), ids=REDIRECTED)
def test_settings_that_send_commits_elsewhere_are_not_harmless(after):
    assert not is_harmless(BEFORE.encode(), after.encode())


@pytest.mark.parametrize("after", HARMLESS.values(), ids=HARMLESS)
def test_everyday_settings_are_harmless(after):
    assert is_harmless(BEFORE.encode(), after.encode())


PIECES = (
    *(
        "[core]",
        "[core",
        "[include]",
        '[includeIf "gitdir:x"]',
        '[a.B "c\\"d"]',
        "hooksPath",
        "path",
        "=",
        " = ",
        '"',
        "\\",
    ),
    *(
        "\\\n",
        "\n",
        "\r\n",
        "\r",
        " ",
        "\t",
        "#",
        "; c",
        "x",
        "../y",
        "\\t",
        '\\"',
        "\\q",
        "\0",
        "\ufeff",
        "]",
        "[",
        "-",
        "1",
    ),
    *('[core "hooksPath\0"]', "\v", "é", "[ core]", "[core ]", '[core  "x" ]', "[]", "A", "\\n", "\\b", "k=", '[ "x"]'),
    *("\n[core]\n", "\nhooksPath = ", '\npath = "', '"\n', " # c\n"),
)


def as_git_reads_it(text: str) -> list[tuple[str, str | None]] | None:
    """The settings that the installed git lists; None if it refuses the file."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(text.encode())
        listed = subprocess.run(["git", "config", "--file", file.name, "--list", "-z"], capture_output=True)
    if listed.returncode:
        return None
    pairs = [entry.partition("\n") for entry in listed.stdout.decode().split("\0")[:-1]]
    return [(key, value if equals else None) for key, equals, value in pairs]


def with_plain_blanks(value: str | None) -> str | None:
    """Versions of git before 2.45 turn each blank between words into a space."""
    return value.replace("\t", " ").replace("\r", " ") if value is not None else None


@pytest.mark.starts
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_settings_are_parsed_as_git_parses_them(text):
    expected, parsed_text = as_git_reads_it(text), parsed(text)
    assert parsed_text.is_complete == (expected is not None)
    if expected is not None:
        assert [(key, with_plain_blanks(value)) for key, value in parsed_text.settings] == [
            (key, with_plain_blanks(value)) for key, value in expected
        ]


NAMED = {
    "quoted, with a comment": 'hooksPath = "gh" ; c\n',
    "in parts": 'hooksPath = "g"h # c\n',
    "continued": "hooksPath = g\\\nh\n",
    "in other letters": "HOOKSpath=gh",
    "after another setting": "\tbare = false\n\thooksPath = gh\n",
    "with an escape": 'hooksPath = "g\\"h" ; c\nhooksPath = gh',
}


@pytest.mark.parametrize("head", ["[core]\n", "[core]", "[CORE] # c\n", "\ufeff[core]\n", "[user]\nname = x\n[core]\n"])
@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED)
def test_hooks_directories_are_found_however_they_are_written(head, text):
    assert "gh" in hooks_paths(head + text)
    assert "gh" in included(head.casefold().replace("core", "include") + text.casefold().replace("hookspath", "path"))


@pytest.mark.parametrize("value", ["~/x", ":(optional)~/x", '"~/x"', "~/\\\nx"])
def test_home_directory_in_paths_is_expanded(value, monkeypatch):
    monkeypatch.setenv("HOME", "/home/u")
    assert "/home/u/x" in hooks_paths(f"[core]\nhooksPath = {value}\n")


def test_git_prefix_expands_to_possible_installation_directories():
    assert "/usr/../home/u/x" in included("[include]\npath = %(prefix)/../home/u/x\n")


def test_file_that_git_refuses_is_not_harmless():
    assert not is_harmless(b"", b"[user]\nname = x\n]\n")
    assert not is_harmless(b"[user\n", b"[user]\nname = x\n")
