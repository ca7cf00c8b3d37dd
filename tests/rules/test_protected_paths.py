"""Protected paths: writing to each is HIGH and asked about in every mode; also keys typed into a program."""

import pytest

from workbench.config.settings import Settings, load_settings
from workbench.risk import RatingContext, assess
from workbench.risk.actions import assess_file
from workbench.risk.assessment import Assessment
from workbench.risk.paths import PathContext
from workbench.rules.policy import PROTECTED, rule_on
from workbench.rules.rule import parse_rule
from workbench.rules.rule_files import command_subject
from workbench.rules.rule_set import RuleSet, guarded_by
from workbench.rules.subject import Subject, subject_of
from workbench.tools.execute_bash.definition import BashTool

W, HOME = "/home/u/proj", "/home/u"
PLACES = PathContext(W, HOME)
NAMES = [
    ".git/hooks/pre-commit",
    ".git/config",
    ".ohw/config.toml",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".run/app.run.xml",
    "app.code-workspace",
    "app.sublime-project",
    ".zed/tasks.json",
    ".nvim.lua",
    ".exrc",
    ".vimrc",
    ".envrc",
    ".mcp.json",
    ".npmrc",
    ".gitmodules",
    ".github/workflows/ci.yml",
    ".forgejo/workflows/a.yml",
    ".gitea/workflows/a.yml",
    ".gitlab-ci.yml",
    ".woodpecker.yml",
    "Jenkinsfile",
    ".cursor/rules",
    ".cursorrules",
    ".windsurf/x",
    ".claude/settings.json",
    "CLAUDE.md",
    "docs/AGENTS.md",
    "GEMINI.md",
    ".aider.conf.yml",
    ".github/copilot-instructions.md",
    ".continue/config.json",
    ".devcontainer/devcontainer.json",
    ".husky/pre-push",
    ".devcontainer.json",
    ".cargo/config.toml",
    ".mvn/jvm.config",
    "gradle/wrapper/gradle-wrapper.properties",
    ".gradle/init.d/a.gradle",
    ".yarn/releases/yarn.cjs",
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".tmux.conf",
    ".ideavimrc",
    ".vim/plugin/a.vim",
    "mise.local.toml",
    ".pre-commit-config.yaml",
    "lefthook-local.yml",
    ".hg/hgrc",
    ".curlrc",
    ".ghci",
    ".ipython/profile_default/startup/a.py",
    "lib/a.pth",
    "sitecustomize.py",
    ".venv/pyvenv.cfg",
    "opencode.json",
    ".github/instructions/a.instructions.md",
    ".config/nvim/init.lua",
]


def edit(path: str) -> Subject:
    return subject_of("str_replace_editor", {"path": path}, assess_file("create", path, PLACES), W, HOME)


def guarded(subject: Subject, *rules: str) -> str:
    return guarded_by([parse_rule(rule) for rule in rules], subject)


@pytest.mark.parametrize("name", NAMES)
def test_configuration_of_agents_editors_and_ci_is_protected_however_it_is_written(name):
    for path in (f"{W}/{name}", f"{W}/{name.upper()}"):
        assert assess_file("create", path, PLACES).risk == "HIGH"
        assert guarded(edit(path)) == path
    for line in (f"echo x > {name}", f"cp a {name}", f"cd src; tee ../{name}", f"rm {name}", f"sed -i s/a/b/ {name}"):
        assert guarded(command_subject(line, W, HOME)), line
    assert guarded(command_subject(f"cat {name}", W, HOME)) == ""


@pytest.mark.parametrize(
    "name",
    ["src/app.py", "README.md", "docs/agents.txt", "src/run/a.py", "editor.json", "tests/conftest.py", "Cargo.toml"],
)
def test_other_workspace_files_are_not_protected(name):
    assert assess_file("create", f"{W}/{name}", PLACES).risk == "MEDIUM"
    assert guarded(edit(f"{W}/{name}")) == ""


def test_git_configuration_and_the_whole_workspace_are_protected():
    for line in (
        "git config core.hooksPath x",
        "git config --global alias.x y",
        "rm -rf .",
        "rm -rf .git",
        "mv .git x",
    ):
        assert guarded(command_subject(line, W, HOME)), line
    assert guarded(command_subject("git config user.name me", W, HOME)) == ""


@pytest.mark.parametrize("mode", ["medium", "high", "never", "ask"])
def test_protected_path_is_asked_about_in_every_mode(mode):
    ruling = rule_on(mode, "HIGH", False, "x", protected=f"{W}/.envrc")
    assert ruling.verdict == "ask"
    if mode == "never":
        assert ruling.rule == PROTECTED
        assert ".envrc is protected" in ruling.reason
        assert rule_on(mode, "HIGH", False, "x").verdict == "allow"


@pytest.mark.parametrize(
    ("rule", "lifts"),
    [
        ("allow in .github/workflows/ci.yml", True),
        ("allow str_replace_editor in .github/workflows/*.yml", True),
        ("allow in .github/workflows/", True),
        ("allow in .github/**", False),
        ("allow in **/ci.yml", False),
        ("allow in **", False),
        ("allow edit_file in .github/workflows/ci.yml", False),
        ("allow in .github/workflows/other.yml", False),
        ("allow str_replace_editor", False),
        ("ask in .github/workflows/ci.yml", False),
    ],
)
def test_only_a_users_rule_that_names_the_path_allows_it(rule, lifts):
    path = f"{W}/.github/workflows/ci.yml"
    assert (guarded(edit(path), rule) == "") is lifts
    directory = parse_rule(rule, "folder")
    assert guarded_by([directory], edit(path)) == path


def test_one_path_without_a_rule_is_enough_to_ask():
    both = command_subject("cp a .envrc && cp b .vscode/tasks.json", W, HOME)
    assert guarded(both, "allow in .envrc") == f"{W}/.vscode/tasks.json"
    assert guarded(both, "allow in .envrc", "allow in .vscode/**") == ""


def typed(text: str, tmp_path) -> Assessment:
    tool = BashTool(working_dir=str(tmp_path))
    return assess(tool, {"command": text, "is_input": True}, RatingContext(str(tmp_path)))


@pytest.mark.parametrize("key", ["", "UP", "TAB", "ESC", "BS", "PGDN", "C-a", "C-U", "C-l"])
def test_key_that_submits_nothing_is_low(key, tmp_path):
    assert typed(key, tmp_path).risk == "LOW"


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("ENTER", "submits the input"),
        ("C-m", "submits the input"),
        ("C-c", "interrupts the program"),
        ("C-Z", "stops the program"),
        ("C-d", "ends what is typed"),
        ("C-x", "a key with a meaning"),
    ],
)
def test_key_with_an_effect_is_medium_and_named(key, reason, tmp_path):
    rating = typed(key, tmp_path)
    assert rating.risk == "MEDIUM"
    assert reason in rating.reasons[0]


@pytest.mark.parametrize("text", ["up", "enter", "y", "yes"])
def test_text_that_is_no_key_is_rated_as_input(text, tmp_path):
    assert typed(text, tmp_path).risk == "UNKNOWN", "nothing runs that could read it"
    assert typed("rm -rf ~", tmp_path).risk == "HIGH"


@pytest.mark.parametrize("mode", ["medium", "high"])
def test_unknown_risk_is_asked_about_unless_the_setting_disables_that(mode):
    assert rule_on(mode, "UNKNOWN", False, "x").verdict == "ask"
    assert rule_on(mode, "UNKNOWN", False, "x", confirm_unknown=False).verdict == "allow"
    assert rule_on(mode, "HIGH", False, "x", confirm_unknown=False).verdict == "ask"
    assert rule_on("ask", "UNKNOWN", False, "x", confirm_unknown=False).verdict == "ask"
    assert rule_on("plan", "UNKNOWN", False, "x", confirm_unknown=False).verdict == "deny"


def test_setting_is_read_from_file_and_environment(sandbox):
    assert Settings().confirm_unknown is True
    assert RuleSet().confirm_unknown is True
    sandbox.locations.settings_file.parent.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text("confirm_unknown = false\n")
    assert load_settings(sandbox.locations, {}).confirm_unknown is False
    assert load_settings(sandbox.locations, {"OHW_CONFIRM_UNKNOWN": "true"}).confirm_unknown is True
