"""Programs of the user's PATH, what each start of an interpreter runs, and hooks of bare repositories are compared."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.session.fake_agent import calls, says
from tests.session.test_integrity_guard import home as home
from tests.session.test_integrity_guard import notices_of, observed_text
from tests.session.test_integrity_guard import repo as repo
from tests.session.test_integrity_guard import watched as watched
from workbench.config.locations import Locations
from workbench.risk import protected_files
from workbench.risk.protected_files import ProtectedFiles, changes
from workbench.session.workspace.repository import SnapshotRepository

EVIL = "#!/bin/sh\necho evil\n"
SITE = ".venv/lib/python3.11/site-packages"


@pytest.fixture
def environment(repo, home, monkeypatch):
    """A PATH with a directory of the user's, an environment of Python and a bare repository in the workspace."""
    for directory in (home / ".local/bin", home / "tools/bin", repo / SITE):
        directory.mkdir(parents=True)
    (home / "tools/bin/git-helper").write_text("#!/bin/sh\necho mine\n")
    (repo / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    (repo / ".tox/py311/lib/python3.11/site-packages").mkdir(parents=True)
    (repo / ".tox/py311/pyvenv.cfg").write_text("home = /usr/bin\n")
    subprocess.run(["git", "init", "-q", "--bare", "srv/store"], cwd=repo, check=True)
    monkeypatch.setenv("PATH", f"{home}/tools/bin:{os.environ['PATH']}")
    return repo


WAYS = {
    "a new program in ~/.local/bin": "cp hook ~/.local/bin/git",
    "a program of PATH replaced": "cp hook ~/tools/bin/git-helper",
    "a program of PATH written to": "cat hook >> ~/tools/bin/git-helper",
    "a link in PATH": "ln -s $PWD/hook ~/tools/bin/ls",
    "a program deleted, so that another is found": "rm ~/tools/bin/git-helper",
    "a .pth that runs code": f"echo 'import os; os.system(\"x\")' > {SITE}/a.pth",
    "a .pth that adds a directory elsewhere": f"echo /tmp/evil > {SITE}/a.pth",
    "a .pth with a mark before its code": f"printf '\\xef\\xbb\\xbfimport os' > {SITE}/a.pth",
    "a .pth with code behind an odd line end": f"printf 'x\\x0cimport os' > {SITE}/a.pth",
    "a .pth behind a link": f"ln -s ../../../../hook {SITE}/a.pth",
    "sitecustomize": f"echo 'import os' > {SITE}/sitecustomize.py",
    "sitecustomize as a package": f"mkdir {SITE}/sitecustomize; echo 'import os' > {SITE}/sitecustomize/__init__.py",
    "usercustomize in tox's": "echo 'import os' > .tox/py311/lib/python3.11/site-packages/usercustomize.py",
    "a bare repository's hook": "cp hook srv/store/hooks/post-receive",
    "a bare repository's settings": "printf '[core]\\n\\thooksPath = /tmp/x\\n' >> srv/store/config",
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_script_changes_is_said(watched, environment, way):
    (environment / "rt.sh").write_text(f"{WAYS[way]}\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert one.session.question is None
    assert notices_of(one), observed_text(one)


HARMLESS = {
    "an editable install": f"echo $PWD/src > {SITE}/__editable__.x.pth",
    "an editable install with a finder": "echo 'import __editable___x_1_0_finder; __editable___x_1_0_finder.install()'"
    f" > {SITE}/__editable__.x.pth",
    "virtualenv's": f"echo 'import _virtualenv' > {SITE}/_virtualenv.pth",
    "setuptools'": "echo \"import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == "
    f"'local'; enabled and __import__('_distutils_hack'); \" > {SITE}/distutils-precedence.pth",
    "an environment made and deleted": "python3 -m venv --without-pip .venv2; mv .venv2 venv; rm -r venv .venv",
    "packages": f"mkdir -p {SITE}/six; echo x > {SITE}/six/__init__.py",
    "another bare repository": "git init -q --bare srv/other; git clone -q --bare . srv/third; git -C srv/store gc -q",
    "a push to a bare repository": "git push -q srv/store HEAD:main",
}


@pytest.mark.parametrize("way", HARMLESS)
def test_what_tools_write_every_day_is_no_change(watched, environment, way):
    (environment / "rt.sh").write_text(f"{HARMLESS[way]}\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert not notices_of(one), observed_text(one)


def test_what_an_installer_that_the_user_approved_puts_into_path_is_no_change(watched, environment, home):
    tool = environment.parent / "bin/pipx"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\ncp {environment}/hook {home}/.local/bin/$2\n")
    tool.chmod(0o755)
    one = watched(calls(("execute_bash", {"command": f"{tool} install ruff"}, "HIGH")), says("done"), mode="ask_all")
    one.session.send("go")
    one.run()
    one.answer()
    assert (home / ".local/bin/ruff").exists()
    assert not notices_of(one), observed_text(one)


def test_a_known_way_to_a_program_of_the_user_is_asked_about_in_every_mode(watched, environment):
    one = watched(calls(("execute_bash", {"command": "cp hook ~/.local/bin/git"})), says("done"))
    one.session.send("go")
    one.run()
    assert one.session.question is not None


def test_programs_of_the_workspace_and_of_others_are_not_compared(repo, home, monkeypatch):
    from workbench.session.actions.integrity import _program_directories

    (repo / "node_modules/.bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{repo}/node_modules/.bin:relative:/usr/bin:/no/such")
    assert set(_program_directories(str(home), str(repo))) == {f"{home}/.local/bin", f"{home}/bin"}


def test_what_is_not_compared_because_of_a_limit_is_said_once(watched, environment, home, monkeypatch):
    monkeypatch.setattr(protected_files, "MOST_PROGRAMS", 5)
    monkeypatch.setattr(protected_files, "MOST_STATS", 200)
    for number in range(9):
        (home / f"tools/bin/{number}").write_text("x")
    (environment / ".vscode/many").mkdir()
    one = watched(*(calls(("execute_bash", {"command": "bash ./rt.sh"})) for _ in range(3)), says("done"))
    (environment / "rt.sh").write_text("true\n")
    one.session.send("go")
    one.run()
    notices = [event.notice for event in one.log() if event.kind == "version_taken" and "not compared" in event.notice]
    assert notices == [
        "not compared before and after actions, as there are too many: the contents of the 10 programs in "
        f"{home}/tools/bin"
    ]
    for number in range(300):
        (environment / f".vscode/many/{number}.json").write_text("{}")
    one.agent.script += [calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done")]
    one.session.send("again")
    one.run()
    notices = [event.notice for event in one.log() if event.kind == "version_taken" and "not compared" in event.notice]
    assert "protected files beyond the first 200" in notices[-1]


def test_of_a_directory_with_many_programs_the_names_are_compared(repo, home, monkeypatch):
    monkeypatch.setattr(protected_files, "MOST_PROGRAMS", 5)
    programs = home / "tools"
    programs.mkdir()
    for number in range(5):
        (programs / f"{number}").write_text("x")
    protected = ProtectedFiles(str(repo), str(home), programs=[str(programs)])
    before = protected.scan()
    (programs / "a").write_text("x")
    now = protected.scan()
    assert [change.path for change in changes(before, now)] == [f"{programs}/a"], "a new name is found"
    assert now.omitted == (f"the contents of the 6 programs in {programs}",)
    (programs / "a").unlink()
    assert [change.path for change in changes(now, protected.scan())] == [f"{programs}/a"]


def test_our_own_versions_are_no_repository_of_the_project(home):
    locations = Locations.from_environment()
    protected = ProtectedFiles(str(home), str(home), data=str(locations.data))
    before = protected.scan()
    SnapshotRepository(locations, home, "one").prepare()
    subprocess.run(["git", "init", "-q", "--bare", "store"], cwd=home, check=True)
    (home / "store/hooks/post-receive").write_text(EVIL)
    assert [change.path for change in changes(before, protected.scan())] == [str(home / "store/hooks/post-receive")]


@pytest.mark.parametrize(
    "path", [".vscode/tasks.json", "AGENTS.md", ".mcp.json", ".github/workflows/ci.yml", "nested/.git/hooks/pre-commit"]
)
def test_the_names_of_a_git_directory_protect_nothing_less(home, tmp_path, path):
    work = tmp_path / "decoy"
    for name in ("objects", "refs", str(Path(path).parent)):
        (work / name).mkdir(parents=True, exist_ok=True)
    (work / "HEAD").write_text("ref: refs/heads/main\n")
    protected = ProtectedFiles(str(work), str(home))
    before = protected.scan()
    (work / path).write_text(EVIL)
    assert [change.path for change in changes(before, protected.scan())] == [str(work / path)]


@pytest.mark.parametrize(
    ("name", "content"), [("commondir", "../evil\n"), ("commondir", "../..\n"), ("gitdir", "../evil/.git\n")]
)
def test_a_pointer_of_git_is_everyday_work_in_a_new_worktree_alone(home, repo, name, content):
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    (repo / ".git" / name).write_text(content)
    assert [change.path for change in changes(before, protected.scan())] == [str(repo / ".git" / name)]
    (repo / ".git" / name).unlink()
    subprocess.run(["git", "worktree", "add", "-q", "../tree", "-b", "tree"], cwd=repo, check=True)
    assert changes(before, protected.scan()) == []
