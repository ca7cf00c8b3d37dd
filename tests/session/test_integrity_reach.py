"""What the comparison of protected files reaches: however far down, however linked, and however it was written."""

import mmap
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.session.fake_agent import calls, says
from tests.session.test_integrity_guard import git, home, notices_of, observed_text, repo, standing, watched  # noqa: F401
from workbench.files import stat_keys
from workbench.mcp.tool import MCPToolDefinition
from workbench.risk import protected_files
from workbench.risk.protected_files import ProtectedFiles, changes
from workbench.session.actions.integrity import may_change
from workbench.tools import BashTool, ThinkTool

SCRIPTED = {
    "appended": "printf '[core]\\n\\tpager = x\\n' >> .git/config",
    "truncated": "truncate -s 5 .git/config",
    "mapped": "python3 -c \"import mmap; f = open('.vscode/tasks.json', 'r+'); mmap.mmap(f.fileno(), 0)[0:2] = b'[]'\"",
    "renamed over": "mv hook .git/config",
    "written by another name": "ln .git/config c; printf '[core]\\n\\tpager = x\\n' >> c",
    "a link to the folder above": "ln -s .git q; cp hook q/hooks/pre-commit",
    "a repository moved behind a file": "mv .git .g2; echo 'gitdir: .g2' > .git; cp hook .g2/hooks/pre-commit",
    "a repository moved behind a link": "mv .git zz; ln -s zz .git; cp hook zz/hooks/pre-commit",
    "settings of the worktree": "printf '[core]\\n\\thooksPath = evil\\n' > .git/config.worktree",
    "attributes": "echo '* filter=x' > .git/info/attributes",
    "an include": "printf '[include]\\n\\tpath = ../x.cfg\\n' >> .git/config",
    "a link for a folder of hooks": "rm -r .git/hooks; ln -s ../evil/.git/hooks .git/hooks",
    "a link for .github": "mkdir -p x/workflows; echo evil > x/workflows/c.yml; ln -s x .github",
    "a link for .cargo": "mkdir x; echo evil > x/config.toml; ln -s x .cargo",
    "deleted and made with another mode": "cp .git/config c; rm .git/config; cp c .git/config; chmod 755 .git/config",
    "a submodule's hook": "m=.git/modules/a/b; mkdir -p $m/hooks; touch $m/HEAD; cp hook $m/hooks/pre-commit",
    "another worktree": "git worktree add -q ../w2 evil; echo x > .git/worktrees/w2/config.worktree",
    "a nested repository": "git init -q nested; cp hook nested/.git/hooks/pre-commit",
    "a pipe": "rm .vscode/tasks.json; mkfifo .vscode/tasks.json",
    "a folder": "rm .vscode/tasks.json; mkdir .vscode/tasks.json",
    "below many new folders": "mkdir a{1..700}; mkdir -p .github/workflows; echo evil > .github/workflows/c.yml",
    "in one of many new folders": "mkdir a{1..700}; mkdir -p zz/.vscode; echo evil > zz/.vscode/tasks.json",
    "vim's": "mkdir ~/.vim; echo evil > ~/.vim/vimrc",
    "an editor's": "mkdir -p ~/.config/Code/User; echo {} > ~/.config/Code/User/tasks.json",
    "neovim's": "mkdir -p ~/.config/nvim; echo evil > ~/.config/nvim/init.lua",
    "an interpreter's": "d=~/.ipython/profile_default/startup; mkdir -p $d; echo evil > $d/0.py",
    "trust": "mkdir -p ~/.local/share/ohw; echo {} > ~/.local/share/ohw/trusted.json",
}


@pytest.mark.parametrize("way", SCRIPTED)
def test_what_a_script_changes_is_said(watched, repo, home, way):  # noqa: F811
    (repo / "rt.sh").write_text(f"{SCRIPTED[way]}\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert one.session.question is None
    assert notices_of(one), observed_text(one)
    assert "protected" in observed_text(one)


def test_what_a_new_link_leads_to_is_not_torn(watched, repo, home):  # noqa: F811
    (repo / "rt.sh").write_text("mkdir x; echo mine > x/config.toml; ln -s x .cargo\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert not (repo / ".cargo").is_symlink()
    assert (repo / "x/config.toml").read_text() == "mine\n"


def test_new_hooks_paths_make_no_file_a_deleted_one(repo, home):  # noqa: F811
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    git(repo, "config", "core.hooksPath", "evil")
    assert [change.path for change in changes(before, protected.scan())] == [f"{repo}/.git/config"]


LED_TO = {
    "a hook that is a link": (".git/hooks/pre-commit", "../../hook", "hook"),
    "a folder of hooks that is a link": (".git/hooks", "../shared", "shared/pre-push"),
    "a folder of the editor that is a link": (".idea", "shared", "shared/pre-push"),
}


@pytest.mark.parametrize("way", LED_TO)
def test_what_a_protected_link_leads_to_is_compared(watched, repo, home, way):  # noqa: F811
    link, target, written = LED_TO[way]
    (repo / "shared").mkdir()
    (repo / "shared/pre-push").write_text("mine")
    if (repo / link).is_dir():
        (repo / link).rename(repo / "old-hooks")
    (repo / link).symlink_to(target)
    (repo / "rt.sh").write_text(f"echo evil >> {written}\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert notices_of(one)
    assert (repo / link).is_symlink()
    assert (repo / written).is_file()


def test_what_was_approved_of_the_target_of_a_link_is_approved(watched, repo, home):  # noqa: F811
    (repo / "AGENTS.md").write_text("mine\n")
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")
    one = watched(calls(("execute_bash", {"command": "echo more >> AGENTS.md"})), says("done"), mode="high")
    one.session.send("go")
    one.run()
    one.answer()
    assert (repo / "AGENTS.md").read_text() == "mine\nmore\n"
    assert notices_of(one) == ""


INCLUDED = {
    "the repository": (".git/config", "[include]\n\tpath = ../team.cfg\n"),
    "the user": ("~/.gitconfig", '[includeIf "gitdir:/"]\n  path = "{repo}/team.cfg"\n'),
    "a folder of hooks of the user": ("~/.gitconfig", "[core]\n  hooksPath = team.cfg.d\n"),
}


@pytest.mark.parametrize("way", INCLUDED)
def test_what_settings_of_git_name_is_compared(repo, home, way):  # noqa: F811
    file, text = INCLUDED[way]
    path = home / file.removeprefix("~/") if file.startswith("~/") else repo / file
    (repo / "team.cfg").write_text("[user]\n")
    (repo / "team.cfg.d").mkdir()
    with path.open("a") as opened:
        opened.write(text.format(repo=repo))
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    target = repo / ("team.cfg.d/pre-commit" if "hooks" in way else "team.cfg")
    target.write_text("[core]\n\tfsmonitor = evil\n")
    assert [change.path for change in changes(before, protected.scan())] == [str(target)]


def test_a_file_that_settings_of_git_include_before_it_exists_is_found(repo, home):  # noqa: F811
    with (repo / ".git/config").open("a") as opened:
        opened.write("[include]\n\tpath = ../team.cfg\n")
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    assert changes(before, protected.scan()) == []
    (repo / "team.cfg").write_text("[core]\n\tfsmonitor = evil\n")
    assert [change.path for change in changes(before, protected.scan())] == [f"{repo}/team.cfg"]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("XDG_CONFIG_HOME", "git/config"),
        ("XDG_CONFIG_HOME", "fish/config.fish"),
        ("XDG_DATA_HOME", "ohw/trusted.json"),
        ("ZDOTDIR", ".zshrc"),
        ("GIT_CONFIG_GLOBAL", ""),
    ],
)
def test_files_that_the_environment_names_are_compared(watched, repo, home, monkeypatch, name, file):  # noqa: F811
    place = repo.parent / "elsewhere"
    monkeypatch.setenv(name, str(place))
    target = place / file if file else place
    (repo / "rt.sh").write_text(f"mkdir -p {target.parent}; echo evil > {target}\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert target.name in notices_of(one)


def test_a_page_that_stays_mapped_is_read_again(repo, home):  # noqa: F811
    path = repo / ".vscode/tasks.json"
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = b"{"
        time.sleep(0.1)
        protected = ProtectedFiles(str(repo), str(home))
        before, stat = protected.scan(), path.stat()
        mapped[0:2] = b"[]"
        assert path.stat() == stat
        assert [change.path for change in changes(before, protected.scan())] == [str(path)]


def test_a_file_in_memory_never_settles():
    lines = Path(stat_keys._MOUNTS).read_text().splitlines()
    levels = {line.split()[2]: line.split(" - ")[1].split()[0] for line in lines}
    in_memory = [device for device, kind in levels.items() if kind == "tmpfs"]
    assert in_memory, "every Linux has one"
    major, minor = map(int, in_memory[0].split(":"))
    assert not stat_keys.has_settled(SimpleNamespace(st_ctime_ns=0, st_dev=os.makedev(major, minor)))
    assert stat_keys.has_settled(SimpleNamespace(st_ctime_ns=0, st_dev=2**31))


def test_new_folders_push_no_known_one_out(repo, home, monkeypatch):  # noqa: F811
    monkeypatch.setattr(protected_files, "MOST_DIRECTORIES", 20)
    deep = repo / "packages/one/.vscode"
    deep.mkdir(parents=True)
    (deep / "tasks.json").write_text("{}")
    for number in range(40):
        (repo / f"b{number}").mkdir()
    protected = ProtectedFiles(str(repo), str(home))
    protected.scan()
    for number in range(60):
        (repo / f"a{number}/b").mkdir(parents=True)
    before = protected.scan()
    (deep / "tasks.json").write_text("evil")
    (deep / "new.json").write_text("evil")
    assert {change.path for change in changes(before, protected.scan())} == {
        f"{deep}/tasks.json",
        f"{deep}/new.json",
    }


def test_many_protected_files_of_the_home_folder_hide_none_of_the_workspace(repo, home, monkeypatch):  # noqa: F811
    monkeypatch.setattr(protected_files, "MOST_FILES", 60)
    applications = home / ".local/share/applications"
    applications.mkdir(parents=True)
    for number in range(100):
        (applications / f"{number}.desktop").write_text("x")
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    (repo / ".git/hooks/pre-commit").write_text("evil")
    assert [change.path for change in changes(before, protected.scan())] == [f"{repo}/.git/hooks/pre-commit"]


def test_many_protected_files_of_the_workspace_hide_none_of_the_others(repo, home, monkeypatch):  # noqa: F811
    monkeypatch.setattr(protected_files, "MOST_FILES", 60)
    (repo / ".vscode").mkdir(exist_ok=True)
    (repo / "z/.idea").mkdir(parents=True)
    for number in range(100):
        (repo / f".vscode/{number}.json").write_text("{}")
    (repo / "z/.idea/run.xml").write_text("mine")
    (home / ".config/fish").mkdir(parents=True)
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    assert changes(before, protected.scan()) == []
    evil = [repo / ".github/workflows/ci.yml", repo / "z/.idea/run.xml", home / ".config/fish/config.fish"]
    for path in evil:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("evil")
    assert {change.path for change in changes(before, protected.scan())} == set(map(str, evil))


def test_a_new_protected_file_deep_in_a_large_workspace_is_found(repo, home):  # noqa: F811
    for number in range(1500):
        (repo / f"d{number % 20}/e{number % 200}/f{number}").mkdir(parents=True)
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    deep = repo / "d19/e199/f1199"
    (deep / ".vscode").mkdir()
    for name in ("AGENTS.md", ".vscode/tasks.json"):
        (deep / name).write_text("evil")
    assert {change.path for change in changes(before, protected.scan())} == {
        f"{deep}/AGENTS.md",
        f"{deep}/.vscode/tasks.json",
    }


@pytest.mark.parametrize(("server_says", "approved"), [(True, True), (True, False), (False, True)])
def test_what_a_server_says_of_its_tools_does_not_spare_the_comparison(server_says, approved):
    definition = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": server_says}}
    assert may_change(MCPToolDefinition("look", definition, "one", is_approved=approved))
    assert not may_change(ThinkTool())
    assert may_change(BashTool())
