"""LOW is a proof: options, words, variables and directories that no table lists are MEDIUM at least."""

from pathlib import Path

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.risk.programs.harmless import ROWS
from workbench.risk.shell.grammar import parsed_row

PLACES = PathContext("/home/u/proj", "/home/u")
LINES = [line.split("\t", 1) for line in (Path(__file__).parent / "data/proof.txt").read_text().splitlines()]
"""`level<TAB>line`, written from manual pages: rare options, variables, directories and state."""


def risk(line: str, places: PathContext = PLACES) -> str:
    return assess_command(line, places).risk


def test_unlisted_option_is_not_low_in_any_table_row():
    names = [name for name in ROWS if not parsed_row(ROWS[name]).any_option]
    assert len(names) > 500
    assert [name for name in names if risk(f"{name} --not-in-any-table") == "LOW"] == []


@pytest.mark.parametrize(
    "line",
    [
        "MANPAGER='sh -c id' man ls",
        "XDG_CONFIG_HOME=./x git status",
        "GIT_TRACE=/home/u/.bashrc git status",
        "nm --plugin ./x.so a.out",
        "nm --plug=./x.so a.out",
        "sort --compress-prog=./x data",
        "rg --pre=./x foo",
        "wc --files0-from=.env",
        "diff --to-file=/home/u/.ssh/id_rsa a",
        "grep -f .env x",
        "tmux display-message -p '#(id)'",
        "tmux ls \\; run-shell id",
        "pip list --log /home/u/.bashrc",
        "pip list --log=/home/u/.bashrc",
        "git remote show https://x.example/y",
        "git reflog drop --all",
        "git config --get http.extraheader",
        "setarch -3 sh",
        "env -vS 'rm -rf ~'",
        "echo id | bash -v",
        "exec < commands.txt",
        "shopt -s extdebug",
        "jobs -x rm -rf src",
        "apt -o APT::Update::Pre-Invoke::=id list",
        "rpm --eval '%(id)'",
        "journalctl --vacuum-time=1s",
    ],
)
def test_option_or_variable_that_runs_or_leaks_something_is_high(line):
    assert risk(line) == "HIGH"


@pytest.mark.parametrize(
    "line",
    [
        "FOO=1 ls",
        "dc sums",
        "dc -f sums",
        "dc -e 1 sums",
        "env FOO=1 ls",
        "export FOO=1",
        "declare -x FOO=1",
        "readonly FOO=1",
        "set -a",
        "set -o allexport",
        "umask 022",
        "ulimit -n 4096",
        "trap '' INT",
        "trap - EXIT",
        "shopt -s nullglob",
        "exec 3> out.txt",
        "disown",
        "./ls",
        "./bin/cat x",
        "cargo metadata",
        "cargo --version",
        "uv pip list",
        "poetry show",
        "yarn --version",
        "docker compose ps",
        "xmllint http://x.example/a.xml",
        "ls $options",
        "git log $range",
        "sort *",
        "nice --adjust=5 ls",
        "timeout --unknown 5 ls",
        "ldd ./a.out",
        "cd vendor/x && git status",
        "cd vendor/x; git log -1",
        "git -C vendor/x status",
        "git --git-dir=x/.git log",
        "git --work-tree=x status",
    ],
)
def test_program_without_a_table_row_is_medium(line):
    assert risk(line) == "MEDIUM"


@pytest.mark.parametrize(
    "line",
    [
        "LANG=C sort data",
        "LC_ALL=C.UTF-8 TZ=Europe/Berlin date",
        "CI=1 NO_COLOR=1 git status",
        "PAGER=cat git log -3",
        "env DEBUG=1 ls",
        "set -euo pipefail",
        "umask",
        "ulimit -n",
        "shopt",
        "trap -p",
        "tar tzf a.tgz",
        "nice -n19 ls",
        "timeout -s KILL 5 ls",
        "git -c color.ui=never log -5",
        "git rev-parse --git-dir",
        "git grep -n -e foo -- src",
        "head -20 a",
        "find . -name '*.py' -newer a -print0",
        "du -sh *",
        "jq --arg a 1 --argjson b 2 '.x' data.json",
        "python3 --version",
        "node -v",
        "ldd /usr/bin/git",
    ],
)
def test_reading_commands_stay_low(line):
    assert risk(line) == "LOW"


def test_directory_of_the_same_repository_is_low_and_a_nested_one_is_not(tmp_path):
    places = PathContext(str(tmp_path), "/home/u")
    for name in ("src", "vendor/nested/.git", "vendor/nested/lib", "bare"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "bare/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "gitlink").mkdir()
    (tmp_path / "gitlink/.git").write_text("gitdir: ../elsewhere\n")
    (tmp_path / "link").symlink_to("vendor/nested")
    for directory in ("src", "."):
        assert (risk(f"cd {directory} && git status", places), risk(f"git -C {directory} log", places)) == (
            "LOW",
            "LOW",
        )
    for directory in ("vendor/nested", "vendor/nested/lib", "bare", "gitlink", "link", "not-there", "$x", ".git"):
        assert risk(f"cd {directory} && git status", places) != "LOW", directory
        assert risk(f"git -C {directory} log", places) != "LOW", directory
    assert risk("git -C src -C ../vendor/nested log", places) == "MEDIUM"


def test_bare_repository_in_the_workspace_is_medium(tmp_path):
    (tmp_path / "HEAD").write_text("ref: refs/heads/main\n")
    assert risk("git log", PathContext(str(tmp_path), "/home/u")) == "MEDIUM"


def test_of_rare_harmful_options_and_variables_97_percent_are_high_and_none_is_low():
    ratings = {line: risk(line) for level, line in LINES if level == "HIGH"}
    assert len(ratings) >= 300
    missed = [line for line, rated in ratings.items() if rated != "HIGH"]
    assert len(missed) <= len(ratings) * 0.03, missed
    assert [line for line, rated in ratings.items() if rated == "LOW"] == []


def test_odd_lines_are_never_low():
    ratings = {line: risk(line) for level, line in LINES if level == "MEDIUM"}
    assert len(ratings) >= 300
    assert [line for line, rated in ratings.items() if rated == "LOW"] == []


def test_everyday_reading_lines_stay_low():
    ratings = {line: risk(line) for level, line in LINES if level == "LOW"}
    assert len(ratings) >= 150
    assert [line for line, rated in ratings.items() if rated != "LOW"] == []
