"""A script whose name the shell completes: the rating says so, and the approval covers every file it may be."""

import json
import os
from itertools import product
from pathlib import Path

import pytest

from tests.rules.offered import narrowest
from workbench.risk.assessment import NOT_COMPARED
from workbench.risk.commands import assess_command
from workbench.risk.executed_files import executed_files, lookup
from workbench.risk.paths import PathContext
from workbench.risk.reason import Trait
from workbench.rules.subject import subject_of

HERE = (
    "~+",
    "$PWD",
    "${PWD}",
    '"${PWD}"',
    "$(pwd)",
    "`pwd`",
    '"$(pwd)"',
    "~-",
    "$OLDPWD",
    "$(git rev-parse --show-toplevel)",
    '"$(dirname "$0")"',
    "$unset",
    "${unset:-.}",
)
RUNS = (
    "sh {}/x.sh",
    "bash -e {}/x.sh a b",
    ". {}/x.sh",
    "source {}/x.sh",
    "{}/x.sh",
    "env A=1 sh {}/x.sh",
    "timeout 5 sh {}/x.sh",
    "echo a | xargs sh {}/x.sh",
    "cd {} && sh x.sh",
    "(cd {}; ./x.sh)",
    "make -f {}/x.sh",
    "bash --rcfile {}/x.sh -i",
)
FILLED_IN = [
    ("for i in x; do sh $i.sh; done", "x.sh"),
    ('for i in a x b; do sh "$i.sh"; done', "x.sh"),
    ("for i in {w..y}; do ./$i.sh; done", "x.sh"),
    ("sh ./$name.sh", "x.sh"),
    ("name=x; sh ./$name.sh", "x.sh"),
    ("sh ${name:-x}.sh", "x.sh"),
    ("sh ./x.$ending", "x.sh"),
    ("sh $(echo x).sh", "x.sh"),
    ("n=1; sh x$((n)).sh", "x1.sh"),
    ("f() { sh $1.sh; }; f x", "x.sh"),
    ("set -- x; sh $1.sh", "x.sh"),
    ("case $a in b) n=x;; esac; sh $n.sh", "x.sh"),
    ("while read f; do sh $f; done < list", "deep/x.sh"),
    ("for d in a/b; do sh $d/x.sh; done", "a/b/x.sh"),
    ("for d in a; do sh $d/b/x.sh; done", "a/b/x.sh"),
    ("for d in a/b; do cd $d; sh x.sh; cd -; done", "a/b/x.sh"),
    ("for d in a/b c; do (cd $d && sh x.sh); done", "a/b/x.sh"),
    ("d=a; for e in b; do sh $d/$e/x.sh; done", "a/b/x.sh"),
    ("for d in .h; do for f in .x; do sh $d/$f.sh; done; done", ".h/.x.sh"),
    ("ls -d */ | while read d; do (cd $d; sh x.sh); done", "a/x.sh"),
    ("find . -type d -exec sh {}/x.sh \\;", "a/b/x.sh"),
    ("find a -name '*.sh' -exec sh {} +", "a/b/c/x.sh"),
    ("find . -type d | xargs -I{} sh {}/x.sh", "a/b/x.sh"),
    ("git ls-files '*.sh' | xargs -n1 bash", "a/b/x.sh"),
    ("env -C $d sh x.sh", "a/x.sh"),
    ("bash -c 'cd a; sh x.sh'", "a/x.sh"),
    ('bash -c "cd $d; sh x.sh"', "a/x.sh"),
    ("while :; do cd a; sh x.sh; cd ..; done", "a/x.sh"),
    ("f() { cd a; sh x.sh; }; f", "a/x.sh"),
    ("python3 tools/$name.py", "tools/x.py"),
    ("for m in x; do python3 -m pkg.$m; done", "pkg/x.py"),
    ("for m in x; do python3 -m $m; done", "x.py"),
    ("node ./$name", "x.js"),
    ("for f in x; do pytest tests/test_$f.py; done", "tests/test_x.py"),
    ("pytest $f", "tests/test_x.py"),
    ("uv run $d/x.py", "a/x.py"),
    ("~+/x.sh", "x.sh"),
]
INSIDE = [
    ("sh x.sh", ". ~+/y.sh"),
    ("sh x.sh", 'sh "${PWD}"/y.sh'),
    ("sh x.sh", "sh `pwd`/y.sh"),
    ("sh x.sh", "sh $(pwd)/y.sh"),
    ("sh x.sh", "for i in y; do sh $i.sh; done"),
    ("sh x.sh", 'top=$(git rev-parse --show-toplevel)\ncd "$top/a" && ./y.sh'),
    ("sh x.sh", "for d in a/b; do sh $d/y.sh; done"),
]


def bound(folder: Path, line: str) -> set[str]:
    parts = assess_command(line, PathContext(str(folder), "/nowhere")).parts
    files = executed_files(parts, str(folder), str(folder), text=line)
    return {os.path.relpath(path, folder) for path in files if path != NOT_COMPARED}


def put(folder: Path, name: str, text: str = "echo\n") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def is_always_offered(folder: Path, line: str) -> bool:
    local = assess_command(line, PathContext(str(folder), "/nowhere"))
    return narrowest(subject_of("execute_bash", {"command": line}, local, str(folder)), local.risk) is not None


@pytest.mark.parametrize(("directory", "run"), product(HERE, RUNS))
def test_directory_filled_in_by_the_shell_is_searched(tmp_path, directory, run):
    line = run.replace("{}", directory)
    put(tmp_path, "x.sh")
    assert "x.sh" in bound(tmp_path, line)
    assert not is_always_offered(tmp_path, line)


@pytest.mark.parametrize(("line", "name"), FILLED_IN)
def test_name_filled_in_by_the_shell_binds_all_possible_files(tmp_path, line, name):
    put(tmp_path, name)
    assert name in bound(tmp_path, line)
    assert not is_always_offered(tmp_path, line)


@pytest.mark.parametrize(("line", "text"), INSIDE)
def test_names_in_a_script_are_filled_in_too(tmp_path, line, text):
    name = "a/b/y.sh" if "a/b" in text else "a/y.sh" if "top" in text else "y.sh"
    put(tmp_path, "x.sh", text)
    put(tmp_path, name)
    assert name in bound(tmp_path, line)


@pytest.mark.parametrize("line", ["sh $f", '. "$f"', "for f in *; do sh $f; done", "sh ./$name.sh", "sh ~+/x.sh"])
def test_reason_says_that_the_script_is_only_known_at_run_time(line):
    rated = assess_command(line, PathContext("/home/u/proj", "/home/u"))
    assert rated.risk == "HIGH"
    assert rated.reasons == ("runs a script only known at run time",)


@pytest.mark.parametrize(
    ("line", "traits"),
    [
        ("rm $x", Trait.UNCERTAIN),
        ('eval "$x"', Trait.RUNS | Trait.UNCERTAIN),
        ("$x run", Trait.RUNS | Trait.UNCERTAIN),
        ("frobnicate all", Trait.UNCERTAIN | Trait.UNRECOGNIZED),
        ("git frobnicate", Trait.UNCERTAIN | Trait.UNRECOGNIZED),
        ("pip frobnicate", Trait.UNCERTAIN | Trait.UNRECOGNIZED),
        ("env X=1 frobnicate", Trait.NONE),
        ("ls -l", Trait.NONE),
        ("curl https://example.org", Trait.NONE),
    ],
)
def test_part_tells_what_its_reason_means_for_rules_and_offers(line, traits):
    (part, *_) = assess_command(line, PathContext("/home/u/proj", "/home/u")).parts
    assert part.traits == traits


@pytest.mark.parametrize("line", ["ls $x", "cat $f.sh", "rm $f", "git diff $x", "grep -r a $d", "cd $d", "wc -l $f"])
def test_commands_that_only_read_or_move_files_bind_none_filled_in_by_the_shell(tmp_path, line):
    put(tmp_path, "x.sh")
    assert bound(tmp_path, line) == set()


def test_workspace_named_like_a_pattern_is_taken_literally(tmp_path):
    folder = tmp_path / "a[b]*"
    put(folder, "x.sh")
    assert bound(folder, "sh *.sh") == {"x.sh"}
    assert bound(folder, "sh $i.sh") == {"x.sh"}


@pytest.mark.parametrize(
    "line", ["git -C $d status", "git --git-dir=$d log", 'git -C "$d" x', "make -C $d", "env -C $d x"]
)
def test_unknown_directory_of_a_flag_is_no_error(tmp_path, line):
    assert bound(tmp_path, line) == set()


def test_directories_beyond_the_limit_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(lookup, "_MOST_WALKED", 20)
    for number in range(30):
        put(tmp_path, f"d{number}/y.sh")
    files = executed_files(
        assess_command("sh $d/x.sh", PathContext(str(tmp_path), "/nowhere")).parts,
        str(tmp_path),
        str(tmp_path),
        text="sh $d/x.sh",
    )
    assert NOT_COMPARED in files


LINES = [json.loads(line) for line in (Path(__file__).parent / "data/executes.jsonl").read_text().splitlines()]


SHAPES = ("$x", "$x/{}", "{}$x", '"$x"', "~x/{}")


def test_no_word_filled_in_by_the_shell_makes_the_search_fail(tmp_path):
    """Fill in each word of each line once; the shapes take turns, so that each meets hundreds of words."""
    for number, line in enumerate(dict.fromkeys(case["line"] for case in LINES)):
        words = line.split(" ")
        for at, word in enumerate(words):
            filled = SHAPES[(number + at) % len(SHAPES)].replace("{}", word)
            assert isinstance(bound(tmp_path, " ".join((*words[:at], filled, *words[at + 1 :]))), set)
