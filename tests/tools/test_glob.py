import os
import threading
from pathlib import Path

import pytest

from tests.tools.search_tree import HANGS, WAYS, call, fake_ripgrep, interrupted, special_file, way, write
from tests.tools.shells import processes
from workbench.tools import ArgumentError, ToolContext
from workbench.tools.glob.definition import MOST, GlobTool
from workbench.tools.glob.patterns import GlobError, expand
from workbench.tools.glob.program import Searches
from workbench.tools.glob.walk import walk


@pytest.fixture(params=WAYS)
def find(request, tmp_path):
    tool = GlobTool(tmp_path)

    def run(pattern: str, path: str | None = None):
        with way(request.param):
            return call(tool, pattern=pattern, path=path)

    return run


def names(result, directory: Path) -> list[str]:
    assert not result.is_error, result.text
    return [os.path.relpath(path, directory) for path in result.files]


def dated(directory: Path, *files: str) -> None:
    for age, name in enumerate(files):
        os.utime(directory / name, (1_000_000_000 - age, 1_000_000_000 - age))


def test_newest_file_comes_first(find, tmp_path):
    write(tmp_path, {"old.py": "", "sub/new.py": "", "middle.py": "", "other.txt": ""})
    dated(tmp_path, "sub/new.py", "middle.py", "old.py")
    result = find("**/*.py")
    assert names(result, tmp_path) == ["sub/new.py", "middle.py", "old.py"]
    assert result.text.splitlines() == [str(tmp_path / name) for name in ("sub/new.py", "middle.py", "old.py")]


def test_files_of_the_same_time_are_sorted_by_name(find, tmp_path):
    write(tmp_path, dict.fromkeys("cab", ""))
    for name in "abc":
        os.utime(tmp_path / name, (1, 1))
    assert names(find("*"), tmp_path) == ["a", "b", "c"]


def test_at_most_a_hundred_files_are_listed_with_a_notice(find, tmp_path):
    write(tmp_path, {f"{number}.py": "" for number in range(MOST + 7)})
    result = find("*.py")
    assert len(result.files) == MOST
    assert result.truncated
    assert result.found == MOST + 7
    assert f"The {MOST} newest of {MOST + 7} files" in result.text


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", {"top.py", "src/a.py", "src/deep/b.py"}),
        ("top.py", {"top.py"}),
        ("b.py", {"src/deep/b.py"}),
        ("src/*.py", {"src/a.py"}),
        ("./src/*.py", {"src/a.py"}),
        ("src/**/*.py", {"src/a.py", "src/deep/b.py"}),
        ("**/deep/*", {"src/deep/b.py", "src/deep/c.md"}),
        ("src/**", {"src/a.py", "src/deep/b.py", "src/deep/c.md"}),
        ("**/*.{md,txt}", {"src/deep/c.md", "notes.txt"}),
        ("**/[a-b].py", {"src/a.py", "src/deep/b.py"}),
        ("**/[!a].py", {"src/deep/b.py"}),
        ("**/?.py", {"src/a.py", "src/deep/b.py"}),
        ("src/*/*.py", {"src/deep/b.py"}),
        ("s*c/d*p/*", {"src/deep/b.py", "src/deep/c.md"}),
        ("*/*", {"src/a.py"}),
    ],
)
def test_pattern_matches_these_files(find, tmp_path, pattern, expected):
    write(tmp_path, dict.fromkeys(("top.py", "notes.txt", "src/a.py", "src/deep/b.py", "src/deep/c.md"), ""))
    assert set(names(find(pattern), tmp_path)) == expected


def test_absolute_pattern_and_path_are_accepted(find, tmp_path):
    write(tmp_path, {"src/a.py": "", "b.py": ""})
    assert names(find(f"{tmp_path}/src/*.py"), tmp_path) == ["src/a.py"]
    assert names(find("*.py", str(tmp_path / "src")), tmp_path) == ["src/a.py"]
    assert names(find("*.py", "src"), tmp_path) == ["src/a.py"]


@pytest.mark.parametrize("name", ["-x.py", "--files.py", "-", "--", "a b.py", "ä.py", "it's.py", "a\nb.py"])
def test_odd_names_are_found_and_shown_on_one_line(find, tmp_path, name):
    write(tmp_path, {name: ""})
    pattern = name if name.startswith("-") else "*"
    result = find(pattern)
    assert result.files == [str(tmp_path / name).replace("\n", "\\n")]
    assert "\n" not in result.files[0]


def test_pattern_that_looks_like_an_option_is_a_pattern(find, tmp_path):
    write(tmp_path, {"a.py": "", "-rf": ""})
    for pattern in ("--pre=rm", "-u", "--hidden", "--no-ignore"):
        assert find(pattern).found == 0
    assert names(find("-*"), tmp_path) == ["-rf"]


def test_ignored_files_are_omitted(find, tmp_path):
    write(
        tmp_path,
        {
            ".gitignore": "*.log\n/build/\nnode_modules\n!keep.log\n",
            "a.log": "",
            "keep.log": "",
            "build/x": "",
            "src/build/x": "",
            "src/node_modules/y": "",
            "src/.ignore": "secret*\n",
            "src/secret.txt": "",
            "secret.txt": "",
        },
    )
    assert set(names(find("**"), tmp_path)) == {"keep.log", "src/build/x", "secret.txt"}
    assert names(find("**", "src"), tmp_path) == ["src/build/x"]


def test_wildcards_in_ignore_files_match_one_byte_as_in_git(find, tmp_path):
    write(tmp_path, {".gitignore": "?\n[!a]x\nö*\n", "b": "", "ä": "", "bx": "", "äx": "", "ö1": ""})
    assert set(names(find("*"), tmp_path)) == {"ä", "äx"}


def test_hidden_files_need_a_pattern_with_a_dot(find, tmp_path):
    write(tmp_path, {".env": "", ".github/a.yml": "", "b.yml": "", "sub/.env.local": "", ".git/config": ""})
    assert names(find("*.yml"), tmp_path) == ["b.yml"]
    assert set(names(find("**/.env*"), tmp_path)) == {".env", "sub/.env.local"}
    assert names(find(".github/*.yml"), tmp_path) == [".github/a.yml"]


LINKS = {
    "*": ["dead.py -> gone.py", "dirlink -> sub", "link.py -> a.py", "sub/inner.py -> ../a.py"],
    "*.py": ["dead.py -> gone.py", "link.py -> a.py", "sub/inner.py -> ../a.py"],
    "*link*": ["dirlink -> sub", "link.py -> a.py"],
    "sub/*": ["sub/inner.py -> ../a.py"],
    "**/inner*": [],
    ".*": [".hidden -> a.py"],
    "*.txt": [],
}


@pytest.mark.parametrize(
    "pattern", LINKS, ids=["all", "python", "name", "directory", "nothing-beside", "hidden", "none"]
)
def test_links_that_fit_are_named_with_their_targets(find, tmp_path, pattern):
    write(tmp_path, {"a.py": "", "sub/b.py": ""})
    for name, target in (("link.py", "a.py"), ("dead.py", "gone.py"), ("dirlink", "sub"), (".hidden", "a.py")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "sub/inner.py").symlink_to("../a.py")
    result = find(pattern)
    line = next((line for line in result.text.splitlines() if line.startswith("[Links")), "")
    expected = [f"{tmp_path}/{link}" for link in LINKS[pattern]]
    assert line == (f"[Links are not followed. These fit: {', '.join(expected)}]" if expected else "")
    assert not any(Path(path).is_symlink() for path in result.files)


def test_many_links_are_counted(find, tmp_path):
    write(tmp_path, {"a.py": ""})
    for number in range(50):
        (tmp_path / f"link{number:02}").symlink_to("a.py")
    assert " and 30 more]" in find("*").text


def test_links_and_devices_are_not_followed(find, tmp_path):
    write(tmp_path, {"real/a.py": ""})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.py")
    assert names(find("*.py"), tmp_path) == ["real/a.py"]
    assert len(find("*.py", "link").files) == 1


@pytest.mark.parametrize("kind", ["pipe", "socket", "link"])
@pytest.mark.parametrize("above", [True, False], ids=["above", "below"])
@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".rgignore"])
def test_an_ignore_file_that_is_not_regular_is_skipped(find, tmp_path, name, above, kind):
    write(tmp_path, {"tree/a.py": "", "tree/sub/b.py": ""})
    special_file(tmp_path / name if above else tmp_path / "tree/sub" / name, kind)
    assert sorted(names(find("*.py", "tree"), tmp_path)) == ["tree/a.py", "tree/sub/b.py"]


@pytest.mark.starts
@pytest.mark.parametrize("place", [".gitignore", "tree/.ignore", "tree/sub/.rgignore"])
def test_ripgrep_that_waits_for_a_pipe_is_replaced_by_our_own_walk(tmp_path, monkeypatch, place):
    write(tmp_path, {"tree/a.py": "", "tree/sub/b.py": ""})
    os.mkfifo(tmp_path / place)
    fake_ripgrep(tmp_path, monkeypatch, "./a.py\\000")
    result = call(GlobTool(tmp_path / "tree", seconds=20), pattern="*.py")
    assert sorted(names(result, tmp_path)) == ["tree/a.py", "tree/sub/b.py"]
    assert "Stopped" not in result.text


@pytest.mark.parametrize("home", ["plain", "od[d]{h}*"])
@pytest.mark.parametrize(
    ("pattern", "path"), [("~/x*", None), ("~/sub/*.py", None), ("x*", "~"), ("*.py", "~/sub"), ("~/**/x*", None)]
)
def test_home_is_expanded(find, tmp_path, monkeypatch, pattern, path, home):
    write(tmp_path, {f"{home}/x.py": "", f"{home}/sub/x.py": "", "x.py": ""})
    monkeypatch.setenv("HOME", str(tmp_path / home))
    found = names(find(pattern, path), tmp_path)
    assert found
    assert all(name.startswith(f"{home}/") for name in found)


def test_tilde_in_a_name_is_itself(find, tmp_path):
    write(tmp_path, {"~lock": "", "sub/a~": ""})
    assert names(find("~*"), tmp_path) == ["~lock"]
    assert names(find("*~"), tmp_path) == ["sub/a~"]


def test_unreadable_directory_is_skipped(find, tmp_path):
    write(tmp_path, {"closed/a.py": "", "open.py": ""})
    (tmp_path / "closed").chmod(0)
    try:
        assert str(tmp_path / "open.py") in find("*.py").files
    finally:
        (tmp_path / "closed").chmod(0o755)


def test_no_match_is_reported_and_no_error(find, tmp_path):
    result = find("*.rs")
    assert not result.is_error
    assert f"No file in {tmp_path} fits `*.rs`" in result.text


@pytest.mark.parametrize(
    ("pattern", "path", "message"),
    [
        ("[a", None, "`[` without `]`"),
        ("{a,b", None, "`{` without `}`"),
        ("a}", None, "`}` without `{`"),
        ("a\\", None, "ends with a backslash"),
        ("src/", None, "add `**`"),
        ("[z-a]", None, "not a class"),
        ("*.py", "nowhere/at/all", "No such file"),
        ("*.py", "file.txt", "is a file"),
        ("no/such/*.py", None, "No such file"),
        ("*.py", "a\0b", "cannot be searched"),
        ("{a,b}" * 20, None, "braces"),
    ],
)
def test_path_that_cannot_be_searched_is_explained(find, tmp_path, pattern, path, message):
    write(tmp_path, {"file.txt": ""})
    result = find(pattern, path)
    assert result.is_error
    assert message in result.text


def test_empty_pattern_is_refused():
    with pytest.raises(ArgumentError, match="pattern"):
        GlobTool().action_from_arguments({"pattern": ""})


def test_pattern_of_many_stars_ends(find, tmp_path):
    write(tmp_path, {"a" * 200: "", "/".join(["a"] * 60): ""})
    assert find("*a" * 40 + "b").found == 0
    assert find("**/a/" * 30 + "b").found == 0


@pytest.mark.starts
def test_interrupt_ends_a_hanging_search(tmp_path, monkeypatch):
    tool = GlobTool(tmp_path, seconds=300)
    assert "interrupted" in interrupted(tool, tmp_path, monkeypatch).text
    assert not processes(HANGS)
    monkeypatch.undo()
    assert call(tool, pattern="*.py").found == 1  # the next search is not affected


def test_walk_without_ripgrep_ends_with_the_search(tmp_path):
    write(tmp_path, {f"{directory}/{number}.py": "" for directory in "abc" for number in range(3)})
    assert len(list(walk(str(tmp_path)))) == 9
    seen: list[str] = []
    for path in walk(str(tmp_path), is_over=lambda: bool(seen)):
        seen.append(path)
    assert len(seen) == 3


def test_search_ends_at_its_timeout():
    over = threading.Event()
    with Searches(0.01).one() as stop:
        assert not over.wait(0.0)
        for _ in range(1000):
            if stop.is_over():
                break
            over.wait(0.01)
        assert stop.why == "time"


@pytest.mark.starts
def test_tool_is_read_only_and_created_for_a_session(tmp_path):
    (tool,) = GlobTool.create(ToolContext(str(tmp_path)))
    write(tmp_path, {"a.py": ""})
    assert tool.name == "glob"
    assert tool.is_read_only
    assert call(tool, pattern="*.py").found == 1
    tool.close()


@pytest.mark.parametrize(
    ("glob", "whole"),
    [("a", ["a"]), ("{a,b}c", ["ac", "bc"]), ("x{a,{b,c}}", ["xa", "xb", "xc"]), ("[{]\\{", ["[{]\\{"])],
)
def test_braces_match_each_branch(glob, whole):
    assert expand(glob) == whole


def test_too_many_branches_are_refused():
    with pytest.raises(GlobError, match="more than"):
        expand("{a,b,c,d}" * 6)
