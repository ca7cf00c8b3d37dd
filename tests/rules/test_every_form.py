"""A rule applies however a command is written: many forms of the same command, and similar ones that must not match."""

import json
from pathlib import Path

import pytest

from workbench.rules.rule import parse_rule
from workbench.rules.rule_files import command_subject
from workbench.rules.rule_set import deciding

DATA = Path(__file__).parent / "data"
CASES = Path(__file__).parent.parent / "risk/data/risk.jsonl"


def forms(name: str) -> dict[str, list[str]]:
    """Return the lines of a file by the heading above them."""
    sections = (DATA / name).read_text().removeprefix("## ").split("\n\n## ")
    return {section.splitlines()[0]: section.splitlines()[1:] for section in sections}


PATH_FORMS = forms("denied_path_forms.txt")
COMMAND_FORMS = forms("denied_command_forms.txt")
NEIGHBOURS = [line.split("\t", 2) for line in (DATA / "harmless_neighbours.txt").read_text().splitlines()]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Path:
    """A workspace with a secret directory, and links to it and to the file in it."""
    directory = tmp_path_factory.mktemp("work")
    for name in ("secret/a", "src/x.py"):
        (directory / name).parent.mkdir()
        (directory / name).write_text("k")
    (directory / "lk").symlink_to("secret")
    (directory / "lnk").symlink_to("secret/a")
    return directory


def verdict(line: str, rule: str, workspace: Path) -> str:
    line = line.replace("\\n", "\n").replace("WORKSPACE", str(workspace)).replace("NAME", workspace.name)
    decisive = deciding([parse_rule(rule)], command_subject(line, str(workspace), str(workspace.parent)))
    return decisive.verdict if decisive else "none"


@pytest.mark.parametrize("rule", ["secret/**", "secret", "WORKSPACE/secret/**", "~/NAME/secret/**"], ids=range(4))
@pytest.mark.parametrize("section", PATH_FORMS)
def test_a_path_is_refused_or_asked_about_in_every_form(section, rule, workspace):
    path = rule.replace("WORKSPACE", str(workspace)).replace("NAME", workspace.name)
    passed = [line for line in PATH_FORMS[section] if verdict(line, f"deny in {path}", workspace) == "none"]
    passed += [line for line in PATH_FORMS[section] if verdict(line, f"ask in {path}", workspace) != "ask"]
    assert passed == []


@pytest.mark.parametrize("test", ["[ -{} {} ]", "[[ -{} {} ]]", "test -{} {}", "[[ ! -{} {} ]]", "[ -n x -a -{} {} ]"])
def test_rules_apply_to_every_test_operator_that_reads_a_file_and_to_no_other(test, workspace):
    for operator in "abcdefghkprsuwxGLNOS":
        assert verdict(test.format(operator, "secret/a"), "deny in secret/**", workspace) == "deny", operator
        assert verdict(test.format(operator, "secretary/a"), "deny in secret/**", workspace) == "none", operator
    for operator in "nz":
        assert verdict(test.format(operator, "secret/a"), "deny in secret/**", workspace) == "none", operator


@pytest.mark.parametrize("section", COMMAND_FORMS)
def test_a_command_is_refused_or_asked_about_in_every_form(section, workspace):
    passed = [line for line in COMMAND_FORMS[section] if verdict(line, "deny $ rm *", workspace) == "none"]
    passed += [line for line in COMMAND_FORMS[section] if verdict(line, "ask $ rm *", workspace) != "ask"]
    assert passed == []


@pytest.mark.parametrize("rule", ["deny in secret/**", "deny $ rm *"], ids=["path", "command"])
def test_paths_next_to_a_denied_one_are_not_refused_and_rarely_asked_about(rule, workspace):
    lines = {line: expected for expected, each, line in NEIGHBOURS if each == rule}
    assert {line: verdict(line, rule, workspace) for line in lines} == lines


@pytest.mark.parametrize("rule", ["in secret/**", "in **/*.key", "in /etc/**", "$ rm *", "$ git push *"], ids=range(5))
def test_every_known_command_can_be_checked_against_a_rule(rule, workspace):
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    lines = [str(case["input"]) for case in cases if case["kind"] == "bash"]
    assert {verdict(line, f"deny {rule}", workspace) for line in lines} <= {"none", "ask", "deny"}
