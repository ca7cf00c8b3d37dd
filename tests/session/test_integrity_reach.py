"""The comparison of protected files covers every depth, every link and every way of writing."""

import mmap
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.session.fake_agent import calls, says
from tests.session.test_integrity_guard import (  # noqa: F401
    git,
    home,
    made_repo,
    notices_of,
    observed_text,
    repo,
    standing,
    watched,
)
from workbench.files import stat_keys
from workbench.mcp.tool import MCPToolDefinition
from workbench.risk import protected_files
from workbench.risk.protected_changes import changes
from workbench.risk.protected_files import ProtectedFiles
from workbench.session.actions.integrity import may_change
from workbench.tools import BashTool, ThinkTool

SCRIPTED = {
    "appended": "printf '[core]\\n\\tpager = x\\n' >> .git/config",
    "truncated": "truncate -s 5 .git/config",
    "mapped": "python3 -c \"import mmap; f = open('.vscode/tasks.json', 'r+'); mmap.mmap(f.fileno(), 0)[0:2] = b'[]'\"",
    "renamed over": "mv hook .git/config",
    "written by another name": "ln .git/config c; printf '[core]\\n\\tpager = x\\n' >> c",
    "a link to the directory above": "ln -s .git q; cp hook q/hooks/pre-commit",
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
def test_change_by_a_script_is_reported(watched, repo, home, way):  # noqa: F811
    (repo / "rt.sh").write_text(f"{SCRIPTED[way]}\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert one.session.question is None
    assert notices_of(one), observed_text(one)
    assert "protected" in observed_text(one)


def test_target_of_a_new_link_is_not_damaged(watched, repo, home):  # noqa: F811
    (repo / "rt.sh").write_text("mkdir x; echo mine > x/config.toml; ln -s x .cargo\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert not (repo / ".cargo").is_symlink()
    assert (repo / "x/config.toml").read_text() == "mine\n"


def test_new_hooks_path_does_not_make_files_look_deleted(repo, home):  # noqa: F811
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    git(repo, "config", "core.hooksPath", "evil")
    assert [change.path for change in changes(before, protected.scan())] == [f"{repo}/.git/config"]


def links(*pairs: tuple[str, str]):
    """Put links into the workspace (`~/`: the home directory) in place of what is there, which moves to the target."""

    def make(repo: Path, home: Path) -> None:  # noqa: F811
        for name, target in pairs:
            path = home / name[2:] if name.startswith("~/") else repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir() and not (repo / target).exists():
                path.rename(repo / target)
            elif path.is_dir():
                path.rename(path.with_name("old"))
            path.symlink_to(os.path.relpath(repo / target, path.parent))

    return make


def pointer(repo: Path, home: Path) -> None:  # noqa: F811
    (repo / ".git").rename(repo / "store")
    (repo / ".git").write_text("gitdir: store\n")


def environment(repo: Path, home: Path) -> None:  # noqa: F811
    (repo / "shared/lib/python3.11/site-packages").mkdir(parents=True)
    (repo / "shared/pyvenv.cfg").write_text("home = /usr/bin\n")
    (repo / ".venv").symlink_to("shared")


LED_TO = {
    "a hook that is a link": (links((".git/hooks/pre-commit", "hook")), "hook"),
    "a folder of hooks that is a link": (links((".git/hooks", "shared")), "shared/pre-push"),
    "a folder of the editor that is a link": (links((".idea", "shared")), "shared/pre-push"),
    "a folder below that": (links((".idea", "shared")), "shared/deep/er.xml"),
    "a repository that is a link": (links((".git", "store")), "store/hooks/pre-commit"),
    "settings of a repository that is a link": (links((".git", "store")), "store/config"),
    "a repository behind a file": (pointer, "store/hooks/pre-commit"),
    "a folder above workflows": (links((".github", "shared")), "shared/workflows/ci.yml"),
    "a folder of workflows": (links((".github/workflows", "shared")), "shared/ci.yml"),
    "a folder in a folder of an agent": (links((".claude/commands", "shared")), "shared/do.md"),
    "a link to a link": (links(("between", "shared"), (".cursor", "between")), "shared/rules.md"),
    "a link in what a link leads to": (links((".husky", "shared"), ("shared/_", "x")), "x/pre-commit"),
    "a nested one": (links(("packages/one/.vscode", "shared")), "shared/tasks.json"),
    "attributes of git": (links((".git/info", "shared")), "shared/attributes"),
    "an environment": (environment, "shared/lib/python3.11/site-packages/a.pth"),
    "keys": (links(("~/.ssh", "shared")), "shared/authorized_keys"),
    "settings of git": (links(("~/.config/git", "shared")), "shared/config"),
    "all settings": (links(("~/.config", "shared")), "shared/git/config"),
    "a bare repository's hooks": (links(("bare", "store"), ("bare/hooks", "shared")), "shared/post-receive"),
}


@pytest.mark.parametrize("way", LED_TO)
def test_target_of_a_protected_link_is_compared(watched, repo, home, way):  # noqa: F811
    make, written = LED_TO[way]
    (repo / "shared").mkdir()
    (repo / "shared/pre-push").write_text("mine")
    if "bare" in way:
        git(repo, "init", "-q", "--bare", "store")
    make(repo, home)
    (repo / "rt.sh").write_text(f"mkdir -p {Path(written).parent}; printf '\\nimport os\\n' >> {written}\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    before = {path: path.readlink() for directory in (repo, home) for path in directory.rglob("*") if path.is_symlink()}
    one.session.send("go")
    one.run()
    assert notices_of(one), observed_text(one)
    assert {path: path.readlink() for path in before} == before


@pytest.mark.parametrize(
    "line",
    [
        "ln -s ~+/evil ~/.config/git",
        "ln -s ~+/evil ~/.zsh",
        "mkdir -p ~/.jupyter; rmdir ~/.jupyter; ln -s ~+/evil ~/.jupyter",
        "rm -r .idea; ln -s evil .idea",
        "ln -sfn evil .husky",
        "rm .husky; mkdir .husky; cp hook .husky/pre-commit",
    ],
)
def test_retargeted_link_is_reported(watched, repo, home, line):  # noqa: F811
    for name in (".idea", "shared"):
        (repo / name).mkdir()
        (repo / name / "x.xml").write_text("mine")
    (home / ".config").mkdir()
    (repo / ".husky").symlink_to("shared")
    (repo / "rt.sh").write_text(f"{line}\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert notices_of(one), observed_text(one)


def test_directory_replaced_by_a_link_is_restored(watched, repo, home):  # noqa: F811
    (repo / ".idea").mkdir()
    (repo / ".idea/x.xml").write_text("mine")
    (repo / "rt.sh").write_text("rm -r .idea; ln -s evil .idea\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert not (repo / ".idea").is_symlink()
    assert (repo / ".idea/x.xml").read_text() == "mine"


def test_file_written_through_a_link_in_the_workspace_is_restored(watched, repo, home):  # noqa: F811
    (repo / "shared").mkdir()
    (repo / "shared/tasks.json").write_text("mine")
    (repo / ".idea").symlink_to("shared")
    (repo / "rt.sh").write_text("echo evil > shared/tasks.json; echo evil > shared/new.json\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert "put back" in notices_of(one)
    assert {path.name: path.read_text() for path in (repo / "shared").iterdir()} == {"tasks.json": "mine"}
    assert (repo / ".idea").is_symlink()


@pytest.mark.parametrize("made", [links((".git", "store")), pointer], ids=["link", "file"])
def test_everyday_work_in_a_repository_elsewhere_is_no_change(watched, repo, home, made):  # noqa: F811
    made(repo, home)
    (repo / "rt.sh").write_text(
        "git checkout -qb more; git -c user.name=a -c user.email=a@b.c commit -qam x; git gc -q\n"
    )
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert not notices_of(one), observed_text(one)


@pytest.mark.parametrize("name", [".", "..", "../.idea", "x"])
def test_circular_links_end(repo, home, name):  # noqa: F811
    (repo / ".vscode/again").symlink_to(name)
    (repo / ".vscode/x").symlink_to("again")
    (repo / ".idea").symlink_to(".vscode")
    (repo / ".github").symlink_to(".")
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    assert len(before.files) < 300
    (repo / ".vscode/new.json").write_text("evil")
    assert f"{repo}/.vscode/new.json" in {change.path for change in changes(before, protected.scan())}


def test_approved_change_of_a_links_target_is_approved(watched, repo, home):  # noqa: F811
    (repo / "AGENTS.md").write_text("mine\n")
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")
    (repo / "shared").mkdir()
    (repo / ".idea").symlink_to("shared")
    commands = ("echo more >> AGENTS.md", "echo x > shared/x.xml", "echo y > .idea/y.xml")
    one = watched(*(calls(("execute_bash", {"command": each})) for each in commands), says("done"), mode="high")
    one.session.send("go")
    one.run()
    for _ in commands:
        assert one.session.question is not None
        one.answer()
    assert (repo / "AGENTS.md").read_text() == "mine\nmore\n"
    assert sorted(path.name for path in (repo / "shared").iterdir()) == ["x.xml", "y.xml"]
    assert notices_of(one) == ""


INCLUDED = {
    "the repository": (".git/config", "[include]\n\tpath = {up}team.cfg\n"),
    "with a comment": (".git/config", '[include]\n\tpath = "{up}team.cfg" ; ours\n'),
    "after another key": (".git/config", "[include]\n\tother = 1\n\n\tPATH = {up}team.cfg # ours\n"),
    "on the line of the section": (".git/config", "[INCLUDE] path={up}team.cfg\n"),
    "over two lines": (".git/config", "[include]\n\tpath = {up}tea\\\nm.cfg\n"),
    "in parts": (".git/config", '[include]\n\tpath = {up}"team".cfg\n'),
    "on a condition": (".git/config", '[includeIf "onbranch:a\\"]b"]\n\tpath = {up}team.cfg\n'),
    "the user": ("~/.gitconfig", '[includeIf "gitdir:/"]\n  path = "{repo}/team.cfg"\n'),
    "a folder of hooks of the user": ("~/.gitconfig", "[core]\n  hooksPath = team.cfg.d\n"),
    "a folder of hooks": (".git/config", "[core] hooksPath=team.cfg.d"),
    "a folder of hooks with a comment": (".git/config", '[core]\n  hooksPath = "team.cfg.d" ; ours\n'),
    "a folder of hooks in capitals": (".git/config", "[CORE]\nHOOKSPATH = team.cfg\\\n.d # ours\n"),
    "a folder of hooks of the work tree": (".git/config.worktree", "[core]\n\thooksPath = ./team.cfg.d/\n"),
}


@pytest.mark.parametrize("kind", ["own", "nested", "submodule", "worktree", "above", "bare"])
@pytest.mark.parametrize("way", INCLUDED)
def test_files_named_by_git_settings_are_compared(repo, home, way, kind):  # noqa: F811
    file, text = INCLUDED[way]
    work = top = repo
    if kind in {"nested", "submodule"}:
        top = repo / "lib/nested"
        git(repo, "init", "-q", str(top))
    if kind == "submodule":
        (repo / ".git/modules").mkdir()
        (top / ".git").rename(repo / ".git/modules/nested")
        (top / ".git").write_text("gitdir: ../../.git/modules/nested\n")
    if kind == "worktree":
        work = top = repo.parent / "other"
        git(repo, "worktree", "add", "-q", str(top), "evil")
    if kind == "above":
        work = repo / "evil"
    store = repo / {"submodule": ".git/modules/nested", "nested": "lib/nested/.git"}.get(kind, ".git")
    if kind == "bare":
        store = top = repo / "srv"
        git(repo, "init", "-q", "--bare", "srv")
    if kind == "worktree" and "worktree" in file:
        store = repo / ".git/worktrees/other"
    path = home / file.removeprefix("~/") if file.startswith("~/") else store / file.removeprefix(".git/")
    up = os.path.relpath(top, store) + "/" if not file.startswith("~/") else ""
    (top / "team.cfg").write_text("[user]\n")
    (top / "team.cfg.d").mkdir()
    with path.open("a") as opened:
        opened.write(text.format(repo=top, up=up))
    protected = ProtectedFiles(str(work), str(home))
    before = protected.scan()
    target = top / ("team.cfg.d/pre-commit" if "hooks" in way else "team.cfg")
    target.write_text("[core]\n\tfsmonitor = evil\n")
    assert [change.path for change in changes(before, protected.scan())] == [str(target)]


def test_file_included_by_git_settings_before_it_exists_is_detected(repo, home):  # noqa: F811
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
def test_files_named_by_the_environment_are_compared(watched, repo, home, monkeypatch, name, file):  # noqa: F811
    place = repo.parent / "elsewhere"
    monkeypatch.setenv(name, str(place))
    target = place / file if file else place
    (repo / "rt.sh").write_text(f"mkdir -p {target.parent}; echo evil > {target}\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert target.name in notices_of(one)


def test_memory_mapped_page_is_read_again(repo, home):  # noqa: F811
    path = repo / ".vscode/tasks.json"
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = b"{"
        time.sleep(0.1)
        protected = ProtectedFiles(str(repo), str(home))
        before, stat = protected.scan(), path.stat()
        mapped[0:2] = b"[]"
        assert path.stat() == stat
        assert [change.path for change in changes(before, protected.scan())] == [str(path)]


def test_file_in_memory_never_settles():
    lines = Path(stat_keys._MOUNTS).read_text().splitlines()
    found = {line.split()[2]: line.split(" - ")[1].split()[0] for line in lines}
    in_memory = [device for device, kind in found.items() if kind == "tmpfs"]
    assert in_memory, "every Linux has one"
    major, minor = map(int, in_memory[0].split(":"))
    assert not stat_keys.has_settled(SimpleNamespace(st_ctime_ns=0, st_dev=os.makedev(major, minor)))
    assert stat_keys.has_settled(SimpleNamespace(st_ctime_ns=0, st_dev=2**31))


def test_new_directories_displace_no_known_one(repo, home, monkeypatch):  # noqa: F811
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


def test_many_protected_files_at_home_hide_none_of_the_workspace(repo, home, monkeypatch):  # noqa: F811
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


def test_new_protected_file_deep_in_a_large_workspace_is_found(repo, home):  # noqa: F811
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
def test_servers_claims_about_its_tools_do_not_prevent_the_comparison(server_says, approved):
    definition = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": server_says}}
    assert may_change(MCPToolDefinition("look", definition, "one", is_approved=approved))
    assert not may_change(ThinkTool())
    assert may_change(BashTool())
