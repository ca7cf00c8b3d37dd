"""No command of git rated LOW runs a program that the repository names: every trap is tried with a real git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from tests.git_traps import TRAPS, Trap, git, make_index_stale, trapped
from workbench.files.recorded_stat import recording
from workbench.risk.commands import assess_command
from workbench.risk.git_programs import _CHECKS, _HARMLESS, UNKNOWN, GitPrograms, programs_named
from workbench.risk.paths import PathContext

pytestmark = pytest.mark.starts

LINES = (
    "git status",
    "git diff",
    "git diff --stat HEAD",
    "git diff --cached",
    "git log -p -2",
    "git log --remerge-diff -1 merged",
    "git show",
    "git show HEAD:a.txt",
    "git blame a.txt",
    "git grep one",
    "git stash list -p",
    "git describe --always --dirty",
    "git ls-files -m -o",
    "git branch -av",
    "git tag -n",
    "git remote -v",
    "git cat-file -p HEAD:a.txt",
    "git rev-list --objects HEAD",
    "git help log",
    "git config --list",
    "git lfs status",
    "git fsck",
    "git shortlog HEAD",
    "git clean -n",
    "git worktree list",
    "git check-attr -a a.txt",
)
PLAIN = Trap("nothing", (), "true")


@pytest.fixture(autouse=True)
def no_settings_from_the_environment(monkeypatch):
    for name in ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


def risk(line: str, directory: Path, home: Path) -> str:
    return assess_command(line, PathContext(str(directory), str(home))).risk


def springing(directory: Path, canary: Path) -> list[str]:
    """Return the lines that make an ordinary git on a terminal run the canary."""
    (canary.parent / "sang").unlink(missing_ok=True)
    script = canary.parent / "lines.sh"
    script.write_text(
        "".join(
            f"{line} < /dev/null; [ ! -e {canary.parent}/sang ] || {{ rm {canary.parent}/sang; echo '{line}' >&3; }}\n"
            for line in LINES
        )
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"HOME": str(canary.parent / "home"), "GIT_CONFIG_NOSYSTEM": "1", "TERM": "xterm", "PAGER": "cat"}
    shell = pexpect.spawn(
        "/bin/sh", ["-c", f"sh {script} 3> {canary.parent}/sprung"], cwd=str(directory), env=environment, timeout=60
    )
    shell.expect(pexpect.EOF)
    shell.close()
    return (canary.parent / "sprung").read_text().splitlines()


def with_settings(*settings: tuple[str, str], attributes: str = "") -> Callable[[Path, Path], Path]:
    def make(directory: Path, canary: Path) -> Path:
        (directory / ".git/info/attributes").write_text(f"{attributes}\n")
        for key, value in settings:
            git(directory, "config", key, value.format(canary))
        return directory

    return make


def included(directory: Path, canary: Path) -> Path:
    (directory / "shared.cfg").write_text(f"[core]\n\tfsmonitor = {canary}\n")
    with (directory / ".git/config").open("a") as file:
        file.write('[include] ; of the team\n\tother = 1\n\tPATH = "../shared" \\\n.cfg # all of us\n')
    (directory / "shared .cfg").symlink_to("shared.cfg")
    return directory


def included_on_condition(directory: Path, canary: Path) -> Path:
    (directory / ".git/more").write_text(f"[Core]\n\tFSMonitor = {canary}\n")
    with (directory / ".git/config").open("a") as file:
        file.write('[includeIf "gitdir:/"] path = more\n')
    return directory


def of_the_work_tree(directory: Path, canary: Path) -> Path:
    git(directory, "config", "extensions.worktreeConfig", "true")
    git(directory, "config", "--worktree", "core.fsmonitor", str(canary))
    return directory


def of_another_work_tree(directory: Path, canary: Path) -> Path:
    git(directory, "config", "core.fsmonitor", str(canary))
    git(directory, "worktree", "add", "-q", "../tree", "side")
    return directory.parent / "tree"


def behind_a_link(directory: Path, canary: Path) -> Path:
    git(directory, "config", "core.fsmonitor", str(canary))
    (directory / ".git").rename(directory / "store")
    (directory / ".git").symlink_to("store")
    return directory


def behind_a_file(directory: Path, canary: Path) -> Path:
    git(directory, "config", "core.fsmonitor", str(canary))
    (directory / ".git").rename(directory.parent / "store")
    (directory / ".git").write_text("gitdir: ../store\n")
    return directory


def below_its_top(directory: Path, canary: Path) -> Path:
    git(directory, "config", "core.fsmonitor", str(canary))
    (directory / "sub").mkdir()
    return directory / "sub"


def around_a_broken_one(directory: Path, canary: Path) -> Path:
    git(directory, "config", "core.fsmonitor", str(canary))
    (directory / "sub/.git/objects").mkdir(parents=True)
    (directory / "sub/.git/refs").mkdir()
    (directory / "sub/.git/HEAD").write_text("no reference\n")
    return directory / "sub"


def bare_beside_a_broken_one(directory: Path, canary: Path) -> Path:
    for name in ("HEAD", "config", "index"):
        (directory / name).write_bytes((directory / ".git" / name).read_bytes())
    for name in ("objects", "refs"):
        (directory / ".git" / name).rename(directory / name)
    with (directory / "config").open("a") as file:
        file.write(f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = {canary}\n")
    return directory


def hook(directory: Path, canary: Path) -> Path:
    (directory / "scripts").mkdir()
    (directory / "scripts/post-index-change").symlink_to(canary)
    git(directory, "config", "core.hooksPath", "scripts")
    make_index_stale(directory)
    return directory


def hook_of_the_user_in_the_repository(directory: Path, canary: Path) -> Path:
    hook(directory, canary)
    git(directory, "config", "--unset", "core.hooksPath")
    (directory.parent / "home/.gitconfig").write_text("[core]\n\thooksPath = scripts\n")
    return directory


def relative_program_of_the_user(directory: Path, canary: Path) -> Path:
    (directory / "watch").symlink_to(canary)
    (directory.parent / "home/.gitconfig").write_text("[core]\n\tfsmonitor = ./watch\n")
    return directory


def included_by_the_user(directory: Path, canary: Path) -> Path:
    (directory / "mine.cfg").write_text(f"[core]\n\tfsmonitor = {canary}\n")
    (directory.parent / "home/.config/git").mkdir(parents=True)
    (directory.parent / "home/.config/git/config").write_text(f"[include]\n\tpath = {directory}/mine.cfg\n")
    return directory


def submodule(directory: Path, canary: Path) -> Path:
    nested = directory / "lib/nested"
    nested.mkdir(parents=True)
    git(nested, "init", "-q")
    git(nested, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "x")
    git(directory, "-c", "advice.addEmbeddedRepo=false", "add", "lib")
    git(nested, "config", "core.fsmonitor", str(canary))
    return directory


def submodule_of_a_submodule(directory: Path, canary: Path) -> Path:
    submodule(directory, canary)
    nested = directory / "lib/nested"
    git(nested, "config", "--unset", "core.fsmonitor")
    submodule(nested, canary)
    return directory


def submodule_by_its_file(directory: Path, canary: Path) -> Path:
    submodule(directory, canary)
    (directory / "lib/nested/.git").rename(directory / ".git/nested")
    (directory / "lib/nested/.git").write_text("gitdir: ../../.git/nested\n")
    return directory


def submodule_in_a_compressed_index(directory: Path, canary: Path) -> Path:
    submodule(directory, canary)
    git(directory, "update-index", "--index-version", "4")
    return directory


def submodule_in_a_split_index(directory: Path, canary: Path) -> Path:
    submodule(directory, canary)
    git(directory, "update-index", "--split-index")
    return directory


def missing_objects(directory: Path, canary: Path) -> Path:
    git(directory, "config", "remote.origin.url", "ssh://x.example/y")
    git(directory, "config", "remote.origin.promisor", "true")
    git(directory, "config", "extensions.partialClone", "origin")
    git(directory, "config", "core.repositoryFormatVersion", "1")
    git(directory, "config", "core.sshCommand", str(canary))
    blob = git(directory, "rev-parse", "HEAD:b.txt")
    (directory / ".git/objects/info/alternates").unlink()
    (directory / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    return directory


def missing_objects_from_a_program(directory: Path, canary: Path) -> Path:
    missing_objects(directory, canary)
    git(directory, "config", "--unset", "core.sshCommand")
    git(directory, "config", "remote.origin.url", f"ext::{canary}")
    git(directory, "config", "protocol.ext.allow", "always")
    return directory


MORE: dict[str, Callable[[Path, Path], Path]] = {
    "an included file": included,
    "an included file, on a condition": included_on_condition,
    "settings of the work tree": of_the_work_tree,
    "settings of the main work tree": of_another_work_tree,
    "a repository behind a link": behind_a_link,
    "a repository behind a file": behind_a_file,
    "a repository further up": below_its_top,
    "a repository further up, beside a broken one": around_a_broken_one,
    "a bare repository beside a broken one": bare_beside_a_broken_one,
    "a hook in another directory": hook,
    "a hook that the user's settings look for here": hook_of_the_user_in_the_repository,
    "a program that the user's settings look for here": relative_program_of_the_user,
    "a file here that the user's settings include": included_by_the_user,
    "a submodule": submodule,
    "a submodule of a submodule": submodule_of_a_submodule,
    "a submodule whose repository is elsewhere": submodule_by_its_file,
    "a submodule in a compressed index": submodule_in_a_compressed_index,
    "a submodule in a split index": submodule_in_a_split_index,
    "missing objects, with a command for ssh": missing_objects,
    "missing objects, from a program": missing_objects_from_a_program,
    "a viewer of manuals": with_settings(("man.viewer", "x"), ("man.x.cmd", "{}")),
    "a browser": with_settings(
        ("help.format", "web"),
        ("help.htmlPath", "http://x.example"),
        ("help.browser", "x"),
        ("browser.x.cmd", "{}"),
    ),
    "a driver of merges": with_settings(("merge.x.driver", "{} %A"), attributes="* merge=x"),
    "a command in the place of one that is not installed": with_settings(("alias.lfs", "!{}")),
}


def prepared(tmp_path: Path, trap: Trap = PLAIN) -> tuple[Path, Path]:
    """A repository with changes and a conflicted merge in its history, beside an empty home and the canary."""
    (tmp_path / "home").mkdir()
    directory = trapped(trap, tmp_path)
    tree = git(directory, "rev-parse", "HEAD^{tree}")
    parents = [part for name in ("HEAD", "side") for part in ("-p", git(directory, "rev-parse", name))]
    git(directory, "update-ref", "refs/heads/merged", git(directory, "commit-tree", tree, *parents, "-m", "m"))
    (tmp_path / "sang").unlink(missing_ok=True)
    return directory, tmp_path / "canary"


def test_reading_commands_in_an_ordinary_repository_are_low_and_run_nothing(tmp_path):
    directory, canary = prepared(tmp_path)
    assert [line for line in LINES if risk(line, directory, tmp_path / "home") != "LOW"] == []
    assert springing(directory, canary) == []


@pytest.mark.parametrize("trap", TRAPS, ids=str)
def test_command_that_triggers_a_canary_is_not_low(trap, tmp_path):
    directory, canary = prepared(tmp_path, trap)
    rated = {line: risk(line, directory, tmp_path / "home") for line in LINES}
    assert [line for line in springing(directory, canary) if rated[line] == "LOW"] == []


@pytest.mark.parametrize("way", MORE)
def test_command_that_runs_a_configured_program_is_not_low_however_it_is_named(way, tmp_path):
    directory, canary = prepared(tmp_path)
    directory = MORE[way](directory, canary)
    rated = {line: risk(line, directory, tmp_path / "home") for line in LINES}
    sprung = springing(directory, canary)
    assert sprung, "no line runs the program: this proves nothing"
    assert [line for line in sprung if rated[line] == "LOW"] == []


QUIET = {
    "what git and its users set every day": (
        '[user]\n\tname = a\n[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n[branch "main"]\n\tremote = origin\n'
        '[remote "origin"]\n\turl = git@x.example:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
        "\tgh-resolved = base\n[pull]\n\trebase = true\n[core]\n\tautocrlf = input\n\teditor = vim\n\tfsmonitor\n"
        "\tuntrackedCache = true\n\thooksPath = .husky\n\tpager = less -FRX\n[diff]\n\talgorithm = histogram\n"
        '\ttool = meld\n[merge]\n\tconflictStyle = zdiff3\n[alias]\n\tst = !./x\n[submodule "x"]\n\tactive = true\n'
        '[gitflow "branch"]\n\tmaster = main\n[credential]\n\thelper = store\n[lfs]\n\tlocksverify = true\n'
    ),
    "another identity": "[core]\n\tsshCommand = ssh -i ~/.ssh/work\n[http]\n\tproxy = http://localhost:3128\n",
    "large files": (
        '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n'
        "\tprocess = git-lfs filter-process\n\trequired = true\n[lfs]\n\trepositoryformatversion = 0\n"
    ),
    "a partial clone": (
        '[remote "origin"]\n\turl = https://x.example/y\n\tpromisor = true\n\tpartialclonefilter = blob:none\n'
        "[extensions]\n\tpartialClone = origin\n"
    ),
}


@pytest.mark.parametrize("settings", QUIET.values(), ids=QUIET)
def test_everyday_settings_leave_reading_low(settings, tmp_path):
    directory, _ = prepared(tmp_path)
    with (directory / ".git/config").open("a") as file:
        file.write(settings)
    (directory / ".husky").mkdir()
    (directory / ".husky/pre-commit").write_text("x")
    assert {risk(line, directory, tmp_path / "home") for line in LINES} == {"LOW"}


def test_programs_of_the_user_leave_reading_low(tmp_path):
    directory, _ = prepared(tmp_path)
    (tmp_path / "home/.gitconfig").write_text(
        "[core]\n\tpager = delta | less -R\n\tfsmonitor = /opt/watch\n\thooksPath = ~/hooks\n"
        "[diff]\n\texternal = difft\n[alias]\n\tst = status\n"
        '[diff "exif"]\n\ttextconv = exiftool\n[filter "lfs"]\n\tprocess = git-lfs filter-process\n[gpg "ssh"]\n'
        "\tprogram = /opt/1Password/op-ssh-sign\n[interactive]\n\tdiffFilter = delta --color-only\n"
        '[filter "tabs"]\n\tclean = sed s/a/b/\n[include]\n\tpath = ~/more\n'
    )
    (tmp_path / "home/more").write_text("[pager]\n\tlog = bat\n")
    (tmp_path / "home/hooks").mkdir()
    (tmp_path / "home/hooks/post-index-change").write_text("x")
    assert {risk(line, directory, tmp_path / "home") for line in LINES} == {"LOW"}


def test_every_section_known_to_the_installed_git_is_in_a_table():
    listed = subprocess.run(["git", "help", "-c"], check=True, capture_output=True, text=True).stdout.split()
    sections = {name.partition(".")[0].casefold() for name in listed if "." in name}
    assert len(sections) > 50
    assert sections - _HARMLESS - _CHECKS.keys() == set()


def test_every_core_setting_known_to_the_installed_git_is_covered(tmp_path):
    listed = subprocess.run(["git", "help", "-c"], check=True, capture_output=True, text=True).stdout.split()
    names = {name.partition(".")[2].casefold() for name in listed if name.startswith("core.")}
    runs = {name for name in names if not _CHECKS["core"](name, "./x")}
    assert runs == {"alternaterefscommand", "fsmonitor", "pager"}


def test_unknown_setting_is_not_low(tmp_path):
    directory, _ = prepared(tmp_path)
    git(directory, "config", "novelty.x.command", "./x")
    assert risk("git status", directory, tmp_path / "home") == "MEDIUM"
    assert "novelty.*.command" in programs_named(str(directory), str(directory), str(tmp_path / "home")).reason


def test_changed_setting_causes_a_new_rating(tmp_path):
    directory, canary = prepared(tmp_path)
    nested = submodule(directory, canary) / "lib/nested"
    git(nested, "config", "--unset", "core.fsmonitor")
    with recording() as facts:
        assert programs_named(str(directory), str(directory), str(tmp_path / "home")) == GitPrograms()
    assert facts.hold()
    git(nested, "config", "core.fsmonitor", str(canary))
    assert not facts.hold()


def test_more_submodules_than_the_limit_are_not_low(tmp_path):
    directory, _ = prepared(tmp_path)
    head = git(directory, "rev-parse", "HEAD")
    entries = "".join(f"160000 {head}\tm{number}\n" for number in range(60))
    git(directory, "update-index", "--index-info", data=entries)
    assert programs_named(str(directory), str(directory), str(tmp_path / "home")).reason == UNKNOWN


@pytest.mark.parametrize("name", ["a link", "link", "x" * 5000])
def test_names_and_sizes_that_resemble_gitlinks_are_no_submodules(tmp_path, name):
    directory, _ = prepared(tmp_path)
    for number in range(30):
        (directory / f"{number}").write_bytes(b"x" * 0xE000)
    blob = git(directory, "hash-object", "-w", "a.txt")
    git(directory, "update-index", "--index-info", data=f"100644 {blob}\t{name}\n")
    git(directory, "add", "-A", ".")
    assert risk("git status", directory, tmp_path / "home") == "LOW"


HG = {
    "[hooks]\npre-status = ./x\n": "MEDIUM",
    "[paths]\ndefault = x\n[alias]\nstatus = !./x\n": "MEDIUM",
    "%include ../x\n": "MEDIUM",
    "[ui]\nusername = a\neditor = ./x\n": "MEDIUM",
    "[ui]\n# a\x0b[paths]\neditor = ./x\n": "MEDIUM",
    "[extensions]\nx = ./x.py\n": "MEDIUM",
    "# mine\n\n[paths]\ndefault = https://x.example/y\n[ui]\nusername = a <a@b.c>\n": "LOW",
    "": "LOW",
}


@pytest.mark.parametrize("settings", HG)
def test_mercurial_settings_are_read_too(tmp_path, settings):
    (tmp_path / "work/.hg").mkdir(parents=True)
    (tmp_path / "work/.hg/hgrc").write_text(settings)
    assert risk("hg status", tmp_path / "work", tmp_path) == HG[settings]
    (tmp_path / "work/.hg/hgrc").unlink()
    (tmp_path / "work/.hg/sharedpath").write_text("../store\n")
    (tmp_path / "work/store").mkdir()
    (tmp_path / "work/store/hgrc").write_text(settings)
    assert risk("hg log", tmp_path / "work", tmp_path) == HG[settings]
