"""Approvals are bound to files of the workspace that settings of the user, or variables of the process, name."""

import os
from pathlib import Path

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.executed_files import executed_files
from workbench.risk.paths import PathContext

NAMED_IN_HOME = [
    ("npm run x", ".npmrc", "script-shell=TOOL"),
    ("npx cowsay", ".npmrc", "node-options=--require=TOOL"),
    ("npm run x", ".npmrc", "node-options=--require ./tool"),
    ("pnpm dlx x", ".npmrc", "script-shell=TOOL"),
    ("yarn x", ".yarnrc.yml", "yarnPath: TOOL"),
    ("aws s3 ls", ".aws/config", "credential_process = TOOL"),
    ("cargo metadata", ".cargo/config.toml", 'rustc-wrapper = "TOOL"'),
    ("ssh h", ".ssh/config", "ProxyCommand TOOL"),
    ("scp a h:", ".ssh/config", "ProxyCommand TOOL"),
    ("git fetch", ".ssh/config", "ProxyCommand TOOL"),
    ("kubectl get pods", ".kube/config", "command: TOOL"),
    ("helm list", ".kube/config", "command: TOOL"),
    ("docker ps", ".docker/config.json", '{"credHelpers": "TOOL"}'),
    ("less a", ".lessfilter", "TOOL"),
    ("man ls", ".manpath", "DEFINE pager TOOL"),
    ("bat a", ".config/bat/config", "--pager=TOOL"),
    ("gdb x", ".gdbinit", "source TOOL"),
    ("vi a", ".vimrc", "source TOOL"),
    ("nvim a", ".config/nvim/init.vim", "source TOOL"),
    ("zsh -c ls", ".zshenv", "source TOOL"),
    ("fish -c ls", ".config/fish/config.fish", "source TOOL"),
    ("pip install x", ".config/pip/pip.conf", "constraint = TOOL"),
    ("psql", ".psqlrc", "\\i TOOL"),
    ("python -m pdb a.py", ".pdbrc", "exec(open('TOOL').read())"),
    ("ipython", ".ipython/profile_default/startup/a.py", "exec(open('TOOL').read())"),
    ("ccache gcc a.c", ".config/ccache/ccache.conf", "compiler = TOOL"),
    ("svn up", ".subversion/config", "ssh = TOOL"),
    ("nohup tmux new -d", ".tmux.conf", "run-shell TOOL"),
]
"""A command, the user's settings that it reads, and a text that names a file of the workspace."""


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


def bound(home: Path, line: str) -> set[str]:
    workspace = str(home.parent / "work")
    parts = assess_command(line, PathContext(workspace, str(home))).parts
    return {os.path.relpath(path, workspace) for path in executed_files(parts, workspace, workspace, text=line)}


def write(path: Path, text: str = "x\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(("line", "settings", "text"), NAMED_IN_HOME)
def test_approval_is_bound_to_files_that_settings_of_the_user_name(home, line, settings, text):
    tool = home.parent / "work/tool"
    write(tool)
    write(home / settings, text.replace("TOOL", str(tool)) + "\n")
    assert "tool" in bound(home, line)
    assert "tool" not in bound(home, "wc -l a")


@pytest.mark.parametrize("form", ["~/project/tool", "$HOME/project/tool", "${HOME}/project/tool"])
def test_home_directory_in_settings_is_filled_in(home, form):
    workspace = home / "project"
    write(workspace / "tool")
    write(home / ".npmrc", f"script-shell={form}\n")
    parts = assess_command("npm view x", PathContext(str(workspace), str(home))).parts
    assert str(workspace / "tool") in executed_files(parts, str(workspace), str(workspace), text="npm view x")


def test_settings_outside_the_workspace_are_not_bound_and_those_inside_are(home):
    write(home / ".npmrc", f"script-shell={home}/own\n")
    write(home / "own")
    assert bound(home, "npm view x") == set()
    parts = assess_command("npm view x", PathContext(str(home), str(home))).parts
    assert str(home / ".npmrc") in executed_files(parts, str(home), str(home), text="npm view x")


@pytest.mark.parametrize(
    ("name", "value", "is_bound"),
    [
        ("LESSOPEN", "|./tool %s", True),
        ("LESSOPEN", "|WORK/tool %s", True),
        ("BASH_ENV", "WORK/tool", True),
        ("NODE_OPTIONS", "--require=WORK/tool", True),
        ("GIT_SSH_COMMAND", "WORK/tool -x", True),
        ("LESSOPEN", "|/usr/bin/lesspipe %s", False),
        ("APP_REPORT", "WORK/tool", False),
        ("OLDPWD", "WORK/tool", False),
    ],
)
def test_approval_is_bound_to_files_that_variables_of_the_process_name(home, monkeypatch, name, value, is_bound):
    write(home.parent / "work/tool")
    monkeypatch.setenv(name, value.replace("WORK", str(home.parent / "work")))
    assert ("tool" in bound(home, "less a.txt")) is is_bound


@pytest.mark.parametrize(
    ("line", "is_bound"),
    [
        ("IPYTHONDIR=prof ipython", True),
        ("export JUPYTER_CONFIG_DIR=./prof; jupyter lab", True),
        ("PKG_CONFIG_PATH=/usr/lib:prof pkg-config x", True),
        ("NIX_PATH=x=prof nix-build", True),
        ("HELM_PLUGINS=$PWD/prof helm list", True),
        ("OUT_DIR=prof ./x", False),
        ("CACHE_DIR=prof ./x", False),
        ("DATA_PATH=prof ./x", False),
        ("d=prof; ls $d", False),
    ],
)
def test_approval_is_bound_to_directories_of_settings_that_a_line_sets(home, line, is_bound):
    write(home.parent / "work/prof/deep/x.conf")
    assert ("prof/deep/x.conf" in bound(home, line)) is is_bound
