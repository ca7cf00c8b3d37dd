"""Deny rules that a line breaks only indirectly: scripts, recipes, hard links, git commands that write every file."""

import os
from pathlib import Path

import pytest

from workbench.rules.rule import parse_rule
from workbench.rules.rule_files import command_subject
from workbench.rules.rule_set import deciding
from workbench.rules.subject import Subject

DATA = Path(__file__).parent / "data"
LINES = [line.split("\t") for line in (DATA / "denied_elsewhere.txt").read_text().splitlines()]
"""`*` is denied or asked about, `none` neither; then the rule, and the command line."""
RULES = {"push": "deny $ git push *", "commit": "deny $ git commit *", "dir": "deny in secret/**"}
FILES = {
    "secret/a": "k",
    "src/x.py": "",
    "lib/q": "",
    "push.sh": "#!/bin/sh\nset -e\ngit push origin main\n",
    "outer.sh": "#!/bin/bash\n./push.sh\n",
    "ok.sh": "#!/bin/bash\nls -la\ngit status\n",
    "rd.sh": "cat secret/a\n",
    "rel.py": "import subprocess\nsubprocess.run(['git', 'push'])\n",
    "Makefile": (
        "push:\n\t@git push origin main\nrelease: push\n\techo done\nread:\n\tcat secret/a\n"
        "format:\n\tblack .\ncheck:\n\tblack src\n"
        "test:\n\tpytest -q\nlint:\n\truff check .\nagain:\n\t$(MAKE) push\nV := $(shell ls)\n"
    ),
    "gp.py": "import git\ngit.Repo('.').remote().push()\n",
    "helper.py": "import subprocess\nfrom git import Repo\n",
    "imp.py": "import helper\nhelper.go()\n",
    "plain.py": "print(1)\n",
    "simple.js": "const git = require('simple-git'); git().push()\n",
    "push.go": 'package main\nimport (\n\t"fmt"\n\tg "github.com/go-git/go-git/v5"\n)\n',
    "clean.sh": "#!/bin/sh\nset -e\nblack .\n",
    "justfile": "push:\n  git push\ntest:\n  pytest\n",
    "package.json": (
        '{"scripts": {"push": "git push", "release": "npm run push", "test": "jest", "rd": "cat secret/a", '
        '"prepush2": "git push", "push2": "echo", "fmt": "prettier -w .", "check": "prettier -c src", '
        '"fetch": "curl https://a.example"}}'
    ),
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Path:
    """A workspace with scripts, recipes, and hard links to a file in a denied directory."""
    made = tmp_path_factory.mktemp("work")
    for name, text in FILES.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text)
        (made / name).chmod(0o755)
    os.link(made / "secret/a", made / "hard")
    os.link(made / "secret/a", made / "lib/h")
    return made


def verdict(rule: str, line: str, workspace: Path) -> str:
    decisive = deciding([parse_rule(rule)], command_subject(line.replace("\\n", "\n"), str(workspace), "/home/u"))
    return decisive.verdict if decisive else "none"


@pytest.mark.parametrize(("expected", "rule", "line"), LINES)
def test_deny_rule_applies_to_commands_that_only_files_show(expected, rule, line, workspace):
    decision = verdict(RULES.get(rule, rule), line, workspace)
    assert decision in {"deny", "ask"} if expected == "*" else decision == expected


@pytest.mark.parametrize(
    ("target", "expected"), [("again", "ask"), ("test lint", "none"), ("%.o", "ask"), ("-j4 test", "none")]
)
def test_only_recipes_of_requested_targets_are_matched(target, expected, workspace):
    assert verdict(RULES["push"], f"make {target}", workspace) == expected


def test_tool_that_opens_a_hard_link_is_denied(workspace):
    rule = parse_rule("deny in secret/**")
    for path, expected in ((f"{workspace}/hard", "deny"), (f"{workspace}/lib/q", "")):
        subject = Subject("str_replace_editor", {"path": path}, (), (path,), str(workspace), "/home/u")
        decisive = deciding([rule], subject)
        assert (decisive.verdict if decisive else "") == expected


def test_script_of_any_length_is_matched_against_rules(workspace):
    (workspace / "long.sh").write_text("#!/bin/sh\n" + "ls -la\n" * 5_000 + "git push\n")
    assert verdict(RULES["push"], "sh long.sh", workspace) == "ask"


def test_code_that_starts_a_script_is_asked_about(workspace):
    code = {"code": "import subprocess; subprocess.run(['./push.sh'])"}
    subject = Subject("python_execute", code, (), (), str(workspace), "/home/u")
    decisive = deciding([parse_rule(RULES["push"])], subject)
    assert decisive is not None
    assert decisive.verdict == "ask"
    assert "push.sh" in decisive.reason
