"""Which files count as executed: of cells and code, of large and odd trees, and never for long."""

import json
import mmap
import os
import time
from pathlib import Path

import pytest

from workbench.risk.assess import executed_by
from workbench.risk.executed import executed_files
from workbench.risk.executed.finder import MOST_FILES
from workbench.risk.executed.source import LARGEST, source_of
from workbench.risk.paths import Places
from workbench.risk.shell.scan import assess_command
from workbench.tools import IPythonTool, PythonExecuteTool

CASES = Path(__file__).parent / "data/risk.jsonl"


def found(folder: Path, command: str, **more) -> dict[str, str]:
    parts = assess_command(command, Places(str(folder), "/nowhere")).parts
    return executed_files(parts, str(folder), str(folder), text=command, **more)


def names(folder: Path, files: dict[str, str]) -> set[str]:
    return {os.path.relpath(path, folder) for path in files}


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
def test_code_and_cells_execute_what_they_import_and_name(tmp_path, tool, code):
    (tmp_path / "a.py").write_text("def go(): pass\n")
    made = tool()
    files = executed_by(made, {"code": code}, str(tmp_path), str(tmp_path), {})
    assert names(tmp_path, files) == {"a.py"}


def test_a_large_file_is_known_by_its_state(tmp_path):
    script = tmp_path / "big.sh"
    with script.open("wb") as file:
        file.truncate(LARGEST + 1)
    first = source_of(str(script))
    os.utime(script, ns=(1, 1))
    assert first != source_of(str(script))


def test_many_files_and_scripts_that_run_each_other_end_soon(tmp_path):
    for number in range(MOST_FILES + 200):
        (tmp_path / f"s{number}.sh").write_text("".join(f"./s{other}.sh\n" for other in range(number, number + 9)))
    (tmp_path / "deep.sh").write_text("sh -c './deep.sh; ' & ./deep.sh\n" * 500)
    began = time.process_time()
    assert len(found(tmp_path, "sh *.sh; ./deep.sh")) <= MOST_FILES
    assert time.process_time() - began < 1.0


def test_no_command_makes_it_fail(tmp_path):
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
    assert all(isinstance(found(tmp_path, line), dict) for line in [*odd, *lines, "npm run x", "make t"])


def test_text_that_an_earlier_action_writes_counts_for_what_is_there(tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("old\n")
    foreseen = found(tmp_path, "sh run.sh", beneath={str(script): "new\n"})
    assert foreseen != found(tmp_path, "sh run.sh")
    script.write_text("new\n")
    assert foreseen == found(tmp_path, "sh run.sh")


def test_a_script_that_stays_mapped_is_hashed_again(tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("echo one\n")
    with script.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = b"e"
        time.sleep(0.1)
        before, stat = found(tmp_path, "sh run.sh"), script.stat()
        mapped[5:8] = b"two"
        assert script.stat() == stat
        assert found(tmp_path, "sh run.sh") != before


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
def test_what_a_script_or_settings_name_is_found(tmp_path, way):
    line, files = REACHED[way]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    assert list(files)[-1] in names(tmp_path, found(tmp_path, line))
