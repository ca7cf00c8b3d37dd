"""A program that follows the links below a directory is rated by what they lead to."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from workbench.files import recorded_stat
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.rules.rule import parse_rule
from workbench.rules.rule_files import command_subject
from workbench.rules.rule_set import deciding

FOLLOW = {
    "grep -R x .": "LOW",
    "grep -nR x": "LOW",
    "grep --dereference-recursive x src": "LOW",
    "rg -L x": "LOW",
    "rg --follow x src": "LOW",
    "ag -f x .": "LOW",
    "diff -r src other": "LOW",
    "diff --recursive src other": "LOW",
    "cat **/*": "LOW",
    "shopt -s globstar; wc -l **/*": "MEDIUM",
    "find . -exec cat {} +": "LOW",
    "find src -name 'k*' -exec head {} \\;": "LOW",
    "find . -follow -type f -exec cat {} +": "LOW",
    "find -L src -type f -exec cat {} +": "LOW",
    "find . -type f -o -type l -exec cat {} +": "LOW",
    "fd . -x cat": "MEDIUM",
    "fd -X grep x": "MEDIUM",
    "cp -rL src other": "MEDIUM",
    "tar -chf src.tar src": "MEDIUM",
    "zip -r src.zip src": "MEDIUM",
    "rsync -aL src/ other/": "MEDIUM",
}
"""Commands that read everything below a directory and through links, with their risk if no link leads out."""
DO_NOT = (
    "grep -r x .",
    "rg x",
    "find . -type f -exec cat {} +",
    "find . -name 'a*' -exec cat {} +",
    "find src -print",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (".ssh", "notes", "code/src/deep", "code/other", "code/denied"):
        (tmp_path / name).mkdir(parents=True)
    for name in (".ssh/id_rsa", "notes/plan.txt", "code/src/a.txt", "code/denied/b.txt"):
        (tmp_path / name).write_text("x")
    return tmp_path / "code"


def risk(command: str, project: Path) -> str:
    return assess_command(command, PathContext(str(project), str(project.parent)), str(project)).risk


@pytest.mark.parametrize("command", FOLLOW)
@pytest.mark.parametrize("target", ["../../../.ssh/id_rsa", "../../../.ssh"], ids=["file", "directory"])
def test_following_a_link_to_a_secret_is_high(command, target, project):
    before = risk(command, project)
    (project / "src/deep/key").symlink_to(target)
    assert (before, risk(command, project)) == (FOLLOW[command], "HIGH")


@pytest.mark.parametrize("command", FOLLOW)
def test_following_a_link_to_another_link_is_high(command, project):
    (project / "src/klink").symlink_to("../other")
    (project / "other/key").symlink_to("../../.ssh/id_rsa")
    assert risk(command, project) == "HIGH"


@pytest.mark.parametrize("command", FOLLOW)
def test_following_a_link_out_of_the_workspace_is_not_low(command, project):
    (project / "src/key").symlink_to("../../notes/plan.txt")
    assert risk(command, project) == "MEDIUM"


@pytest.mark.parametrize("command", FOLLOW)
def test_links_that_stay_inside_or_lead_to_public_files_change_nothing(command, project):
    (project / "src/knot").symlink_to("a.txt")
    (project / "src/around").symlink_to(".")
    (project / "src/hosts").symlink_to("/etc/hosts")
    (project / "src/python").symlink_to(project.parent / ".local/share/uv/python/cpython/bin/python3")
    (project / "src/broken").symlink_to("nowhere")
    assert risk(command, project) == FOLLOW[command]


@pytest.mark.parametrize("command", DO_NOT)
def test_what_does_not_follow_links_stays_low(command, project):
    (project / "src/key").symlink_to("../../.ssh/id_rsa")
    (project / "other/dir").symlink_to("../../.ssh")
    assert risk(command, project) == "LOW"


@pytest.mark.parametrize("command", FOLLOW)
def test_a_rule_for_a_directory_concerns_what_follows_links_to_it(command, project):
    (project / "src/klink").symlink_to("../denied")
    subject = command_subject(command, str(project), str(project.parent))
    decisive = deciding([parse_rule("deny in denied/**")], subject)
    assert decisive
    assert decisive.verdict in ("deny", "ask")


def test_a_reused_rating_does_not_outlive_a_new_link(project):
    with recorded_stat.recording() as answers:
        assert risk("grep -R x .", project) == "LOW"
    assert answers.hold()
    (project / "src/deep/key").symlink_to("../../../.ssh/id_rsa")
    assert not answers.hold()


def test_a_link_made_in_the_same_line_is_followed(project):
    assert risk("ln -s ~/.ssh/id_rsa src/new; grep -R x src", project) == "HIGH"


@pytest.mark.parametrize("command", ["grep -R x .", "find . -exec cat {} +", "cat **/*"])
def test_a_tree_that_is_too_large_to_look_at_is_not_low(command, project, monkeypatch):
    monkeypatch.setattr("workbench.files.recorded_stat._MOST_ENTRIES", 3)
    assert risk(command, project) == "MEDIUM"


def test_a_tree_of_20000_files_is_looked_at_in_time(project):
    for number in range(200):
        directory = project / f"src/{number}"
        directory.mkdir()
        for name in range(100):
            (directory / str(name)).touch()
    began = time.perf_counter()
    assert risk("grep -R x .", project) == "LOW"
    assert time.perf_counter() - began < 1


class CountedScans:
    """Stands in for `os.scandir`, and counts the entries that are looked at in each directory."""

    def __init__(self) -> None:
        self.entries: dict[str, int] = {}
        self._scandir = os.scandir

    @contextmanager
    def __call__(self, directory: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        self.entries.setdefault(directory, 0)
        with self._scandir(directory) as entries:
            yield self._counted(directory, entries)

    def _counted(self, directory: str, entries: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        for entry in entries:
            self.entries[directory] += 1
            yield entry


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> CountedScans:
    counted = CountedScans()
    monkeypatch.setattr("workbench.files.recorded_stat.os.scandir", counted)
    monkeypatch.setattr("workbench.files.recorded_stat.is_settled_directory", lambda info: True)
    return counted


@pytest.mark.parametrize("command", ["grep -R x .; grep -R y src", "diff -r src .", "find . -exec cat {} +; cat **/*"])
def test_no_directory_is_listed_twice_before_it_changes(command, project, scans):
    with recorded_stat.recording() as answers:
        first = risk(command, project)
    listed = {directory.rstrip("/"): count for directory, count in scans.entries.items()}
    assert listed[f"{project}/src"] == 2
    assert answers.hold()
    assert risk(command, project) == first
    assert {directory.rstrip("/"): count for directory, count in scans.entries.items()} == listed
    (project / "src/deep/key").symlink_to("../../../.ssh/id_rsa")
    assert risk(command, project) == "HIGH"


def test_no_more_entries_of_one_directory_are_looked_at_than_the_limit(project, scans, monkeypatch):
    monkeypatch.setattr("workbench.files.recorded_stat._MOST_ENTRIES", 5)
    for number in range(50):
        (project / f"other/{number}").touch()
    assert risk("grep -R x other", project) == "MEDIUM"
    assert risk("grep -R x other", project) == "MEDIUM"
    assert max(scans.entries.values()) == 6
