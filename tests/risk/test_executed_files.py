"""Which files count as executed, for cells and code and in large and odd trees, always within a time limit."""

import json
import mmap
import os
import time
from pathlib import Path

import pytest

from workbench.risk import RatingContext, assess, executed_by
from workbench.risk.assessment import NOT_COMPARED
from workbench.risk.commands import assess_command
from workbench.risk.executed_files import executed_files, project_files
from workbench.risk.executed_files.directories import files_under
from workbench.risk.executed_files.finder import MOST_FILES
from workbench.risk.executed_files.source import LARGEST, source_of
from workbench.risk.paths import PathContext
from workbench.tools import IPythonTool, PythonExecuteTool

CASES = Path(__file__).parent / "data/risk.jsonl"


def executed(directory: Path, command: str, **more) -> dict[str, str]:
    parts = assess_command(command, PathContext(str(directory), "/nowhere")).parts
    return executed_files(parts, str(directory), str(directory), text=command, **more)


def names(directory: Path, files: dict[str, str]) -> set[str]:
    return {os.path.relpath(path, directory) for path in files}


SHELL_FLAGS = (
    "-o pipefail",
    "-euo pipefail",
    "+euo pipefail",
    "-O extglob",
    "-x -o errexit",
    "-eo pipefail -o nounset",
)


@pytest.mark.parametrize("flags", SHELL_FLAGS)
def test_name_of_a_shell_option_is_not_taken_for_the_script(tmp_path, flags):
    (tmp_path / "a.sh").write_text("echo")
    for command in (f"bash {flags} a.sh", f"bash {flags} -c 'sh a.sh'", f"bash -c {flags} 'sh a.sh'"):
        assert names(tmp_path, executed(tmp_path, command)) == {"a.sh"}
    context = PathContext("/home/u/proj", "/home/u")
    for line in (f"bash {flags} /tmp/a.sh", f"bash {flags} -c 'rm -rf ~'", f"bash -c {flags} 'rm -rf ~'"):
        assert assess_command(line, context).risk == "HIGH"
    assert assess_command(f"bash {flags} a.sh", context).risk == "MEDIUM"


@pytest.mark.parametrize("flags", ["-c", "-lc", "-ceo pipefail", "-euoc pipefail", "-c --", "-c --posix"])
def test_command_line_of_a_shell_is_found_behind_its_flags(tmp_path, flags):
    (tmp_path / "a.sh").write_text("echo")
    assert names(tmp_path, executed(tmp_path, f"bash {flags} './a.sh'")) == {"a.sh"}
    assert assess_command(f"bash {flags} 'rm -rf ~'", PathContext("/home/u/proj", "/home/u")).risk == "HIGH"


@pytest.mark.parametrize(
    ("tool", "code"),
    [
        (IPythonTool, "%run a.py 1"),
        (IPythonTool, "!python3 a.py"),
        (IPythonTool, "%%bash\npython3 a.py"),
        (IPythonTool, "import a"),
        (PythonExecuteTool, "import a; a.go()"),
        (PythonExecuteTool, "import subprocess\nsubprocess.run(['python3', 'a.py'])"),
        (PythonExecuteTool, "exec(open('a.py').read())"),
    ],
)
def test_code_and_cells_execute_files_they_import_and_name(tmp_path, tool, code):
    (tmp_path / "a.py").write_text("def go(): pass\n")
    made = tool()
    context = RatingContext(str(tmp_path))
    files = executed_by(assess(made, {"code": code}, context), made, {"code": code}, context, {})
    assert names(tmp_path, files) == {"a.py"}


def test_large_file_is_identified_by_its_stat(tmp_path):
    script = tmp_path / "big.sh"
    with script.open("wb") as file:
        file.truncate(LARGEST + 1)
    first = source_of(str(script))
    os.utime(script, ns=(1, 1))
    assert first != source_of(str(script))


def test_many_files_and_scripts_that_run_each_other_are_searched_quickly(tmp_path):
    for number in range(MOST_FILES + 200):
        (tmp_path / f"s{number}.sh").write_text("".join(f"./s{other}.sh\n" for other in range(number, number + 9)))
    (tmp_path / "deep.sh").write_text("sh -c './deep.sh; ' & ./deep.sh\n" * 500)
    began = time.process_time()
    assert len(executed(tmp_path, "sh *.sh; ./deep.sh")) <= MOST_FILES
    assert time.process_time() - began < 1.0


def test_no_command_makes_the_search_fail(tmp_path):
    odd = [
        "./\0",
        "sh '[",
        "python -m",
        "python -m ..",
        "make -C",
        "npm --prefix",
        "pytest '*['",
        ". ",
        "source ''",
        "./" * 900,
    ]
    lines = [str(json.loads(line)["input"]) for line in CASES.read_text().splitlines()]
    (tmp_path / "package.json").write_text('{"scripts": {"x": "npm run x && sh -c \'npm run x\'", "y": 1}}')
    (tmp_path / "Makefile").write_text("include Makefile\n-include *\nt:\n\t@$(MAKE) t\n")
    assert all(isinstance(executed(tmp_path, line), dict) for line in [*odd, *lines, "npm run x", "make t"])


def test_pending_text_of_an_earlier_action_replaces_the_current_content(tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("old\n")
    foreseen = executed(tmp_path, "sh run.sh", pending={str(script): "new\n"})
    assert foreseen != executed(tmp_path, "sh run.sh")
    script.write_text("new\n")
    assert foreseen == executed(tmp_path, "sh run.sh")


def test_script_that_stays_mapped_is_hashed_again(tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("echo one\n")
    with script.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = b"e"
        time.sleep(0.1)
        before, stat = executed(tmp_path, "sh run.sh"), script.stat()
        mapped[5:8] = b"two"
        assert script.stat() == stat
        assert executed(tmp_path, "sh run.sh") != before


REACHED = {
    "a folder of the script": ("bash sub/a.sh", {"sub/a.sh": 'source "${BASH_SOURCE%/*}/b.sh"\n', "sub/b.sh": "x"}),
    "a variable of make": ("make", {"Makefile": "S=do/run.sh\nall:\n\tbash $(S)\n", "do/run.sh": "x"}),
    "a plugin of pytest": ("pytest -p plug", {"plug.py": ""}),
    "a plugin in its settings": ("pytest", {"pytest.ini": "[pytest]\naddopts = -q -p plug\n", "plug.py": ""}),
    "plugins of a conftest": ("pytest", {"conftest.py": "pytest_plugins = ['tests.fix']\n", "tests/fix.py": ""}),
    "settings of a project": ("python -m pytest", {"pyproject.toml": "addopts = '-p plug'\n", "plug.py": ""}),
    "a path of modules": ("PYTHONPATH=lib python x.py", {"x.py": "", "lib/sitecustomize.py": ""}),
    "a module by name": ("python x.py", {"x.py": "import_module('plug.a')", "plug/__init__.py": "", "plug/a.py": ""}),
    "text that is run": ("python x.py", {"x.py": "exec(open('code.txt').read())", "code.txt": "1"}),
    "tox": ("tox", {"tox.ini": "[testenv]\ncommands = python run.py\n", "run.py": ""}),
    "pre-commit": ("pre-commit run", {".pre-commit-config.yaml": "- entry: ./chk.sh\n", "chk.sh": "x"}),
    "hooks elsewhere": ("git -c core.hooksPath=h commit -m x", {"h/pre-commit": "x"}),
    "an application": ("flask --app web run", {"web.py": ""}),
    "Django": (
        "python manage.py x",
        {"manage.py": "d('DJANGO_SETTINGS_MODULE', 'site.settings')", "site/settings.py": ""},
    ),
    "rake": ("rake", {"Rakefile": "load 'x.rake'\n", "x.rake": ""}),
    "Gradle": ("./gradlew b", {"gradlew": "#!/bin/sh\n", "build.gradle": "apply from: 'x.gradle'\n", "x.gradle": ""}),
    "CMake": ("cmake -B b", {"CMakeLists.txt": "include(cmake/a.cmake)\n", "cmake/a.cmake": ""}),
}


@pytest.mark.parametrize("way", REACHED)
def test_files_named_by_a_script_or_settings_are_included(tmp_path, way):
    line, files = REACHED[way]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    assert list(files)[-1] in names(tmp_path, executed(tmp_path, line))


BOUND = [json.loads(line) for line in (CASES.parent / "executes.jsonl").read_text().splitlines()]


def bound_files(directory: Path, case: dict) -> set[str]:
    for name, text in case["files"].items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
        (directory / name).chmod(0o755 if text.startswith(("#!", "\x7f")) else 0o644)
    return names(directory, executed(directory, case["line"]))


def test_approval_is_bound_to_every_file_a_line_may_run(tmp_path):
    assert len(BOUND) > 900
    missed = [case for at, case in enumerate(BOUND) if case["bound"] not in bound_files(tmp_path / str(at), case)]
    assert missed == []


@pytest.mark.parametrize("line", ["ls", "cat a.py", "git status", "git commit -m x", "rm a.py", "echo x > b", "rg x"])
def test_approval_is_not_bound_to_files_only_read_or_moved(tmp_path, line):
    for name in ("a.py", "b", "src/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert names(tmp_path, executed(tmp_path, line)) == set()


def test_logs_and_data_do_not_bind_an_approval(tmp_path):
    for name in ("app.log", "app.db", "in.csv", "run.py"):
        (tmp_path / name).write_text("x")
    files = names(tmp_path, executed(tmp_path, "python3 run.py app.log app.db --in=in.csv"))
    assert files == {"run.py"}


def test_approval_is_bound_to_a_tree_as_earlier_actions_will_leave_it(tmp_path):
    (tmp_path / "Cargo.toml").write_text("x")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/lib.rs").write_text("old")
    pending = {str(tmp_path / "src/lib.rs"): "new", str(tmp_path / "src/more.rs"): "x"}
    foreseen = executed(tmp_path, "cargo test", pending=pending)
    for path, text in pending.items():
        Path(path).write_text(text)
    assert foreseen == executed(tmp_path, "cargo test", pending=pending)
    (tmp_path / "src/lib.rs").write_text("other")
    assert foreseen != executed(tmp_path, "cargo test")


def test_large_tree_is_searched_in_bounded_time(tmp_path):
    for number in range(60):
        (tmp_path / f"p{number}").mkdir()
        for other in range(60):
            (tmp_path / f"p{number}/m{other}.go").write_text("package x\n")
    began = time.process_time()
    before = executed(tmp_path, "go test ./...")
    assert len(before) <= MOST_FILES
    assert time.process_time() - began < 1.0
    assert before == executed(tmp_path, "go test ./...")
    (tmp_path / "p3/m40.go").write_text("package y // another one\n")
    assert before != executed(tmp_path, "go test ./...")


SETTINGS = '[core]\n\tpager = less\n[remote "o"]\n\turl = a\n'


@pytest.mark.parametrize(
    ("change", "is_other"),
    [
        (SETTINGS + '[branch "x"]\n\tremote = o\n[user]\n\tname = Jo\n', False),
        (SETTINGS.replace("less", "./x"), True),
        (SETTINGS.replace("url = a", "url = b"), True),
        (SETTINGS + '[branch "x"]\n\tremote = o\n[filter "y"]\n\tclean = ./x\n', True),
    ],
    ids=["a branch", "a pager", "an address", "a filter"],
)
def test_git_approval_is_bound_to_settings_that_run_programs_or_name_urls(tmp_path, change, is_other):
    settings = tmp_path / ".git/config"
    settings.parent.mkdir()
    settings.write_text(SETTINGS)
    before = executed(tmp_path, "git push")
    settings.write_text(change)
    assert (executed(tmp_path, "git push") != before) is is_other


def test_git_approval_is_bound_to_settings_of_a_surrounding_repository(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text(SETTINGS)
    workspace = tmp_path / "packages/one"
    workspace.mkdir(parents=True)
    before = executed(workspace, "git push")
    assert names(tmp_path, before) == {".git/config"}
    (tmp_path / ".git/config").write_text(SETTINGS.replace("less", "./x"))
    assert executed(workspace, "git push") != before


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("git push", ".git"),
        ("git push", ".git/config"),
        ("git push", ".git/commondir"),
        ("git push", ".gitmodules"),
        ("make", "Makefile"),
        ("npm test", "package.json"),
        ("pytest", "conftest.py"),
        ("pytest", "pytest.ini"),
        ("pytest", "pyproject.toml"),
        ("cargo build", "build.rs"),
        ("python3 setup.py", "setup.py"),
        ("sh all.sh", "all.sh"),
    ],
)
def test_a_pipe_where_a_file_is_read_does_not_block(tmp_path, line, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    assert name not in names(tmp_path, executed(tmp_path, line))


@pytest.mark.parametrize("line", ["make", "java -cp lib Main", "sh all.sh"])
def test_files_beyond_the_limit_are_reported(tmp_path, monkeypatch, line):
    monkeypatch.setattr(project_files, "_MOST_TREE_ENTRIES", 300)
    monkeypatch.setattr(project_files, "_MOST_TREE_FILES", 100)
    (tmp_path / "Makefile").write_text("all:\n")
    (tmp_path / "lib").mkdir()
    for number in range(50):
        (tmp_path / f"lib/{number}.class").write_text("")
    assert NOT_COMPARED not in executed(tmp_path, "make")
    for number in range(MOST_FILES):
        (tmp_path / f"lib/{number}.class").write_text("")
        (tmp_path / f"{number}.sh").write_text("")
    (tmp_path / "all.sh").write_text("".join(f". ./{number}.sh\n" for number in range(MOST_FILES)))
    assert NOT_COMPARED in executed(tmp_path, line)


@pytest.mark.parametrize(
    "settings",
    [
        '[filter "gen"]\n\tclean = ./tools/gen\n',
        '[filter "gen"]\n\tprocess = "./tools/gen --serve"\n',
        '[diff "gen"]\n\ttextconv = sh tools/gen\n',
        '[merge "gen"]\n\tdriver = tools/gen %O %A %B\n',
        "[core]\n\thooksPath = tools\n",
        "[alias]\n\tgen = !make gen\n",
        "[include]\n\tpath = ../tools/gen\n",
    ],
    ids=["filter", "process", "textconv", "merge driver", "hooks", "alias", "include"],
)
@pytest.mark.parametrize("place", [".gitconfig", ".config/git/config"])
def test_git_approval_is_bound_to_programs_of_the_workspace_in_settings_of_the_user(
    tmp_path, monkeypatch, settings, place
):
    """A repository's `.gitattributes` activates such a program, and the repository may contain it."""
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    for directory in (home / ".config/git", workspace / ".git", workspace / "tools"):
        directory.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (workspace / ".git/config").write_text("[core]\n\tbare = false\n")
    (home / place).write_text(settings)
    for name in ("tools/gen", "Makefile"):
        (workspace / name).write_text("one\n")
    before = executed(workspace, "git add .")
    for name in ("tools/gen", "Makefile"):
        (workspace / name).write_text("two\n")
    assert executed(workspace, "git add .") != before
    assert {path for path in before if not path.startswith(str(workspace))} == set()


def test_outputs_of_a_build_do_not_use_up_the_budget_of_its_sources(tmp_path, monkeypatch):
    monkeypatch.setattr(project_files, "_MOST_TREE_ENTRIES", 100)
    for number in range(300):
        (tmp_path / f"build/{number}").mkdir(parents=True)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.go").write_text("x")
    files = executed(tmp_path, "go vet ./...")
    assert NOT_COMPARED not in files
    assert "src/a.go" in names(tmp_path, files)


@pytest.mark.parametrize("name", [".a.c.swp", "nohup.out", ".coverage", "a.o", "app.log", "app.db-wal"])
def test_files_that_editors_and_tests_write_do_not_bind_a_build(tmp_path, name):
    (tmp_path / "Makefile").write_text("all:\n")
    before = executed(tmp_path, "make")
    (tmp_path / name).write_text("x")
    assert executed(tmp_path, "make") == before


OUTPUTS = """
coverage.xml coverage.json coverage.lcov coverage-final.json lcov.info report.html report.xml junit.xml
junit-report.xml TEST-a.xml test-results.xml cobertura.xml pytest.xml pytest-report.html eslint-report.json
mypy-report.xml gl-code-quality-report.json ruff.sarif build.log output.txt test-output.txt nohup.out .coverage
.coverage.host.123.XabcdX .eslintcache .phpunit.result.cache tsconfig.tsbuildinfo a.prof a.cpuprofile core.1234
htmlcov/index.html htmlcov/status.json htmlcov/coverage_html.js coverage/lcov-report/sorter.js
coverage/coverage-final.json coverage/clover.xml test-results/.last-run.json test-results/junit.xml
playwright-report/index.html .nyc_output/1.json allure-results/1-result.json reports/junit.xml
target/surefire-reports/TEST-x.xml build/test-results/test/TEST-x.xml
"""
LOADED = """
tsconfig.coverage.json coverage.config.json junit.config.json .coveragerc phpunit.xml build.xml pom.xml
sub/report.xml sub/results.json results.json data.json report.py coverage.py coverage.js sub/coverage.js
htmlcov/a.test.js test-results/conftest.py reports/build.gradle junit.properties core coverage.mk report.sh
"""


def _project(directory: Path) -> None:
    (directory / "Makefile").write_text("all:\n")
    (directory / "package.json").write_text('{"scripts": {"test": "jest", "build": "vite build"}}')
    (directory / "src").mkdir()
    (directory / "src/a.js").write_text("x")


@pytest.mark.parametrize(
    "line",
    [
        "make",
        "npm test",
        "npm run build",
        "cargo test",
        "mvn test",
        "gradle test",
        "jest",
        "pytest",
        "coverage run x.py",
        "npx playwright test",
        "uv run pytest",
        "an-unknown-tool check",
    ],
)
def test_results_of_tests_and_tools_do_not_make_an_approval_stale(tmp_path, line):
    _project(tmp_path)
    before = executed(tmp_path, line)
    for name in OUTPUTS.split():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert executed(tmp_path, line) == before


@pytest.mark.parametrize("name", LOADED.split())
@pytest.mark.parametrize("line", ["make", "npm test"])
def test_files_named_somewhat_like_results_still_bind(tmp_path, line, name):
    _project(tmp_path)
    before = executed(tmp_path, line)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("x")
    assert str(tmp_path / name) in executed(tmp_path, line).keys() - before.keys()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("ant -f junit.xml", "junit.xml"),
        ("make -f coverage.out", "coverage.out"),
        ("an-unknown-tool report.html", "report.html"),
        ("bash output.txt", "output.txt"),
        ("make", "report.txt"),
        ("npm test", "htmlcov/coverage_html.js"),
    ],
)
def test_result_that_a_command_or_one_of_its_files_names_binds(tmp_path, line, name):
    _project(tmp_path)
    (tmp_path / "Makefile").write_text("include report.txt\n")
    (tmp_path / "src/a.js").write_text("require('../htmlcov/coverage_html.js')\n")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("one")
    before = executed(tmp_path, line)
    (tmp_path / name).write_text("two")
    assert executed(tmp_path, line) != before


@pytest.mark.parametrize("parent", ["test-results", "htmlcov/x"])
def test_project_below_a_directory_of_results_is_no_result(tmp_path, parent):
    top = tmp_path / parent / "project"
    top.mkdir(parents=True)
    _project(top)
    (top / "src/rules.json").write_text("one")
    before = executed(top, "npm run build")
    (top / "src/rules.json").write_text("two")
    assert executed(top, "npm run build") != before


@pytest.mark.parametrize("name", ["a.png", "src/b.png", "src/3/c.bin", "notes.md", "coverage.xml"])
def test_new_data_does_not_make_an_approval_stale_beyond_the_limit_of_entries(tmp_path, monkeypatch, name):
    monkeypatch.setattr(project_files, "_MOST_TREE_ENTRIES", 1_150)
    _project(tmp_path)
    for number in range(1_500):
        (tmp_path / f"src/{number % 3}").mkdir(exist_ok=True)
        (tmp_path / f"src/{number % 3}/{number}.js").write_text("x")
    before = executed(tmp_path, "make")
    assert NOT_COMPARED in before
    (tmp_path / "src/3").mkdir(exist_ok=True)
    (tmp_path / name).write_text("x")
    assert executed(tmp_path, "make") == before


@pytest.mark.parametrize("line", ["npm test", "make", "npm run build", "uv run tox"])
def test_tree_is_searched_once(tmp_path, monkeypatch, line):
    _project(tmp_path)
    tops: list[str] = []
    monkeypatch.setattr(project_files, "files_under", lambda top, *more: tops.append(top) or files_under(top, *more))
    executed(tmp_path, line)
    assert tops == [str(tmp_path)]


PROJECT = {
    "app.py": "import helper\n",
    "helper.py": "import json\n",
    "scripts/other.py": "",
    "run.sh": "#!/bin/sh\npython3 app.py\n",
    "main.c": '#include "main.h"\n',
    "main.h": "",
    "x.rs": "mod part;\n",
    "part.rs": "",
    "a.js": "require('./b')\n",
    "b.js": "",
    "package.json": '{"scripts": {"x": "node a.js"}}',
}
UNRELATED = [
    "README.md",
    "LICENSE",
    "docs/notes.txt",
    "TODO",
    "CHANGELOG.txt",
    "AUTHORS",
    "data/in.csv",
    "img/a.png",
    "app.log",
    "scripts/other.py",
    "lib/unused.rs",
    "other/unused.js",
    "other/unused.h",
    "web/unused.html",
    ".env.example",
]


@pytest.mark.parametrize(
    "line",
    [
        "python3 app.py",
        "python3 -c 'import helper'",
        "./run.sh",
        "gcc main.c -o x && ./x",
        "rustc x.rs",
        "node a.js",
        "less app.py",
        "ssh host",
        "git commit -m x",
        "NODE_ENV=test DATA_DIR=data node a.js",
        "OUT_DIR=web python3 app.py",
        "npm view left",
    ],
)
def test_edits_of_unrelated_files_do_not_make_an_approval_stale(tmp_path, line):
    for name in (*PROJECT, *UNRELATED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PROJECT.get(name, "one\n"))
    before = executed(tmp_path, line)
    for name in UNRELATED:
        (tmp_path / name).write_text("two\n")
    (tmp_path / "new.md").write_text("new\n")
    assert executed(tmp_path, line) == before


@pytest.mark.parametrize("line", ["make", "npm run x", "cargo build", "go test ./...", "bazel build //..."])
def test_prose_and_data_do_not_bind_a_build(tmp_path, line):
    for name in ("Makefile", "Cargo.toml", "go.mod", "BUILD", "package.json"):
        (tmp_path / name).write_text(PROJECT.get(name, "x:\n"))
    before = executed(tmp_path, line)
    assert {path.partition("/")[0] for path in names(tmp_path, before)} <= {path.name for path in tmp_path.iterdir()}
    for name in UNRELATED:
        if not name.endswith((".py", ".rs", ".js", ".h", ".example")):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("x")
    assert executed(tmp_path, line) == before
