"""A pattern reads the targets of the links that it matches, so it is rated like reading these targets by name."""

import os
import time
from pathlib import Path

import pytest

from workbench.files import recorded_stat
from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("home/.ssh", "home/notes", "home/code/sub/deep"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("home/.ssh/id_rsa", "home/notes/plan.txt", "home/code/a.txt", "home/code/sub/deep/b.txt"):
        (tmp_path / name).write_text("x")
    return tmp_path / "home/code"


LINKS = {
    "key": "../.ssh/id_rsa",
    "plan": "../notes/plan.txt",
    "hosts": "/etc/hosts",
    "inside": "a.txt",
    "sub/deep/far": "../../../.ssh/id_rsa",
    "up": "..",
    ".hidden": "../.ssh/id_rsa",
    "broken": "nowhere",
    "circle": "circle",
}
RATED = {
    "cat *": ("HIGH", "key"),
    "cat ./*": ("HIGH", "key"),
    "cat k*": ("HIGH", "key"),
    "cat ?ey": ("HIGH", "key"),
    "cat [k]ey": ("HIGH", "key"),
    "cat [^a]ey": ("HIGH", "key"),
    "cat [^k]ey": ("LOW", "key"),
    "cat a*": ("LOW", "key"),
    "grep x *": ("HIGH", "key"),
    "head -n 1 k*": ("HIGH", "key"),
    "wc -l sub/../*": ("HIGH", "key"),
    "sort < k*": ("HIGH", "key"),
    "cat p*": ("MEDIUM", "plan"),
    "ls p*": ("LOW", "plan"),
    "cat h*": ("LOW", "hosts"),
    "cat in*": ("LOW", "inside"),
    "cat b* c*": ("LOW", "broken circle"),
    "cat .h*": ("HIGH", ".hidden"),
    "cat sub/*/far": ("HIGH", "sub/deep/far"),
    "cat sub/*/*": ("HIGH", "sub/deep/far"),
    "cat s*/d*/f*": ("HIGH", "sub/deep/far"),
    "cat */b.txt": ("LOW", "sub/deep/far"),
    "cat u*/notes/plan.txt": ("MEDIUM", "up"),
    "cat u*/.ssh/*": ("HIGH", "up"),
    "ls u*": ("LOW", "up"),
    "cat 'k*'": ("LOW", ""),
    "ln -s ~/.ssh/id_rsa new; cat n*": ("HIGH", ""),
}


@pytest.mark.parametrize("command", RATED, ids=range(len(RATED)))
def test_a_pattern_is_rated_by_what_the_links_that_it_matches_lead_to(project, command):
    level, links = RATED[command]
    for name in links.split():
        (project / name).symlink_to(LINKS[name])
    rated = assess_command(command, PathContext(str(project), str(project.parent)), str(project))
    assert rated.risk == level


def test_a_reused_rating_does_not_outlive_a_new_link(project):
    context = PathContext(str(project), str(project.parent))
    with recorded_stat.recording() as answers:
        assert assess_command("cat *", context, str(project)).risk == "LOW"
    assert answers.hold()
    (project / "key").symlink_to("../.ssh/id_rsa")
    assert not answers.hold()
    assert assess_command("cat *", context, str(project)).risk == "HIGH"


def test_very_many_links_are_not_followed_and_not_low(project):
    for number in range(600):
        (project / f"link{number}").symlink_to("a.txt")
    began = time.perf_counter()
    rated = assess_command("cat *", PathContext(str(project), str(project.parent)), str(project))
    assert (rated.risk, rated.reasons) == ("MEDIUM", ("reads what very many links may lead to",))
    assert time.perf_counter() - began < 1


def test_a_pattern_in_a_large_directory_is_rated_in_time(project):
    for number in range(3_000):
        (project / f"file{number}").touch()
    os.utime(project, (1, 1))
    context = PathContext(str(project), str(project.parent))
    began = time.perf_counter()
    assert [assess_command("cat *", context, str(project)).risk for _ in range(50)] == ["LOW"] * 50
    assert time.perf_counter() - began < 2
