"""An approval is bound to files whose path the code joins from strings, or that git's settings name."""

from pathlib import Path

import pytest

from tests.session.test_executed_files import ECHO, EVIL, put, reasons_asked_again, shell_harness

__all__ = ["shell_harness"]
GIT = {".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/x": ""}
PROGRAMS = {
    "node main.js": {
        "require(require('path').join(__dirname, 'lib', 'x'))": "lib/x.js",
        "const p = require('path'); require(p.resolve(__dirname, 'a', 'b', 'x'))": "a/b/x.js",
        "require(__dirname + '/x')": "x.js",
        "require(`${__dirname}/lib/x`)": "lib/x.js",
        "import(new URL('./x.mjs', import.meta.url))": "x.mjs",
    },
    "python3 main.py": {
        "import subprocess, os\nsubprocess.run([os.path.join(os.path.dirname(__file__), 'bin', 'tool')])": "bin/tool",
        "from pathlib import Path\nimport os\nos.system(Path(__file__).parent / 'bin' / 'tool')": "bin/tool",
        "import os\nhere = os.getcwd()\nos.system(f'{here}/bin/tool')": "bin/tool",
        "import importlib\nimportlib.import_module('x')": "x.py",
        "import importlib\nimportlib.import_module('.x', 'pkg')": "pkg/x.py",
        "module = __import__('x')": "x.py",
        "import pkgutil\npkgutil.resolve_name('x')": "x.py",
    },
    "ruby main.rb": {
        "load File.join(__dir__, 'lib', 'x.rb')": "lib/x.rb",
        'system "#{__dir__}/bin/tool"': "bin/tool",
    },
    "perl main.pl": {'use FindBin; do "$FindBin::Bin/x";': "x"},
    "php main.php": {"<?php require __DIR__ . '/lib/x.inc';": "lib/x.inc"},
}
SETTINGS = {
    "git st": ("[alias]\n st = !sh bin/tool\n", "bin/tool"),
    "git sh": ("[alias]\n sh = !./x.sh\n", "x.sh"),
    "git diff": ('[diff "x"]\n textconv = ./conv\n', "conv"),
    "git status": ("[core]\n fsmonitor = tools/mon\n", "tools/mon"),
    "git commit -m x": ("[gpg]\n program = ./sign\n", "sign"),
    "git add x": ('[filter "x"]\n clean = ./clean %f\n', "clean"),
}
CASES = [(command, text, file) for command, cases in PROGRAMS.items() for text, file in cases.items()]


@pytest.mark.parametrize(
    ("command", "text", "file"), CASES, ids=[f"{case[0].split()[0]}-{n}" for n, case in enumerate(CASES)]
)
def test_file_whose_path_is_joined_is_part_of_the_approval(shell_harness, tmp_path: Path, command, text, file):
    put(tmp_path, {command.split()[1]: text, "pkg/__init__.py": "", file: ECHO})
    one = shell_harness(command)
    put(tmp_path, {file: EVIL})
    assert file in reasons_asked_again(one, tmp_path)


@pytest.mark.parametrize("command", SETTINGS)
def test_program_that_git_settings_name_is_part_of_the_approval(shell_harness, tmp_path: Path, command):
    settings, file = SETTINGS[command]
    put(tmp_path, {**GIT, ".git/config": settings, file: ECHO})
    one = shell_harness(command)
    put(tmp_path, {file: EVIL})
    assert file in reasons_asked_again(one, tmp_path)


@pytest.mark.parametrize("name", ["rules/x.smk", "x.nf"])
def test_included_workflow_is_part_of_the_approval(shell_harness, tmp_path: Path, name):
    put(tmp_path, {"Snakefile": f"include: '{name}'", "main.nf": f"include {{ a }} from './{name}'", name: "1"})
    one = shell_harness("snakemake" if name.endswith("smk") else "nextflow run main.nf")
    put(tmp_path, {name: "2"})
    assert name in reasons_asked_again(one, tmp_path)
