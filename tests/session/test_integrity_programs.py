"""Programs of the user's PATH, what each start of an interpreter runs, and hooks of bare repositories are compared."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.session.fake_agent import calls, says
from tests.session.test_integrity_guard import home as home
from tests.session.test_integrity_guard import made_repo as made_repo
from tests.session.test_integrity_guard import notices_of, observed_text
from tests.session.test_integrity_guard import repo as repo
from tests.session.test_integrity_guard import watched as watched
from workbench.config.locations import Locations
from workbench.risk import protected_files
from workbench.risk.protected_changes import changes
from workbench.risk.protected_files import ProtectedFiles
from workbench.session.actions.user_programs import program_directories
from workbench.session.workspace.repository import SnapshotRepository

EVIL = "#!/bin/sh\necho evil\n"
SITE = ".venv/lib/python3.11/site-packages"
USER_SITE = "~/.local/lib/python3.11/site-packages"
CLONES = ("target/one", ".cache/pre-commit/two", ".venv/src/three", ".terraform/modules/four", ".tox/five/src/six")


@pytest.fixture
def environment(repo, home, monkeypatch):
    """A PATH with a directory of the user's, an environment of Python and a bare repository in the workspace."""
    for directory in (home / ".local/bin", home / "tools/bin", repo / SITE, repo / "tools/bin", repo / ".venv/bin"):
        directory.mkdir(parents=True)
    (repo / ".venv/bin/activate").write_text("# activate\n")
    (repo / ".venv/bin/python").symlink_to("/usr/bin/python3")
    (repo / SITE / "_virtualenv.py").write_text("# patches distutils\n")
    for name in CLONES:
        subprocess.run(["git", "init", "-q", name], cwd=repo, check=True)
    (home / "tools/bin/git-helper").write_text("#!/bin/sh\necho mine\n")
    (repo / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    (repo / ".tox/py311/lib/python3.11/site-packages").mkdir(parents=True)
    (repo / ".tox/py311/pyvenv.cfg").write_text("home = /usr/bin\n")
    subprocess.run(["git", "init", "-q", "--bare", "srv/store"], cwd=repo, check=True)
    own = f"{home}/tools/bin:{home}/later/bin:{repo}/tools/bin:{repo}/later/bin:./scripts:{repo}/.venv/bin"
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{own}")
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
    "a directory of PATH made": "mkdir -p ~/later/bin; cp hook ~/later/bin/ls",
    "a directory of PATH in the workspace": "cp hook tools/bin/ls",
    "one that is made": "mkdir -p later/bin; cp hook later/bin/git",
    "one that is relative": "mkdir scripts; ln -s ../hook scripts/cat",
    "one of an environment": "cp hook .venv/bin/git",
    "an interpreter replaced": "rm .venv/bin/python; cp hook .venv/bin/python",
    "an interpreter that is a link to the workspace": "ln -sfn ../../hook .venv/bin/python",
    "what activates an environment": "cat hook >> .venv/bin/activate",
    "compiled sitecustomize": f"cp hook {SITE}/sitecustomize.pyc",
    "compiled usercustomize of an interpreter": f"cp hook {SITE}/usercustomize.cpython-311.pyc",
    "sitecustomize in C": f"cp hook {SITE}/sitecustomize.abi3.so",
    "what virtualenv's .pth imports": f"cp hook {SITE}/_virtualenv.py",
    "what setuptools' .pth imports": f"mkdir {SITE}/_distutils_hack; cp hook {SITE}/_distutils_hack/__init__.py",
    "what an editable install's .pth imports": f"cp hook {SITE}/__editable___x_finder.py",
    "libraries of the user": f"mkdir -p {USER_SITE}; echo 'import os' > {USER_SITE}/a.pth",
    "usercustomize of the user": f"mkdir -p {USER_SITE}; cp hook {USER_SITE}/usercustomize.py",
    "an environment of uv": "d=~/.local/share/uv/tools/x/lib/python3.12/site-packages; mkdir -p $d; "
    "cp hook $d/sitecustomize.py",
    "a Python of pyenv": "d=~/.pyenv/versions/3.12/lib/python3.12/site-packages; mkdir -p $d; "
    "echo 'import os' > $d/a.pth",
    **{f"a hook of {name}": f"cp hook {name}/.git/hooks/pre-commit" for name in CLONES},
    "a hook of a new repository in target": "git init -q target/x/y; cp hook target/x/y/.git/hooks/pre-commit",
    "a hook of a new bare repository in .cache": "git init -q --bare .cache/z; cp hook .cache/z/hooks/post-receive",
    "settings of a repository in target": "git -C target/one config core.fsmonitor ./hook",
    "a bare repository's hook": "cp hook srv/store/hooks/post-receive",
    "a bare repository's settings": "printf '[core]\\n\\thooksPath = /tmp/x\\n' >> srv/store/config",
}


@pytest.mark.parametrize("way", WAYS)
def test_change_by_a_script_is_reported(watched, environment, way):
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
    "an environment of uv's": "mkdir -p venv/lib/python3.11/site-packages venv/bin; "
    "echo x > venv/pyvenv.cfg; cd venv/bin; "
    "echo x > activate; ln -s /usr/bin/python3 python; ln -s python python3; cd ../lib/python3.11/site-packages; "
    "echo x > _virtualenv.py; echo 'import _virtualenv' > _virtualenv.pth",
    "another interpreter": "cd .venv/bin; ln -sfn /usr/bin/env python; ln -s python python3; ln -s python python3.11",
    "a program of an environment": "cp hook .venv/bin/my-tool; cp hook tools/bin/another-one; touch tools/bin/README",
    "a package with setuptools in a new environment": "mkdir -p .nox/a/lib/python3.11/site-packages/_distutils_hack; "
    "cd .nox/a; "
    "echo x > pyvenv.cfg; echo x > lib/python3.11/site-packages/_distutils_hack/__init__.py",
    "a repository in target": "git init -q target/new; git -C target/one commit -q --allow-empty -m x || true",
    "packages": f"mkdir -p {SITE}/six; echo x > {SITE}/six/__init__.py",
    "another bare repository": "git init -q --bare srv/other; git clone -q --bare . srv/third; git -C srv/store gc -q",
    "a push to a bare repository": "git push -q srv/store HEAD:main",
}


@pytest.mark.parametrize("way", HARMLESS)
def test_everyday_writes_of_tools_are_no_change(watched, environment, way):
    (environment / "rt.sh").write_text(f"{HARMLESS[way]}\n")
    one = watched(calls(("execute_bash", {"command": "bash ./rt.sh"})), says("done"))
    one.session.send("go")
    one.run()
    assert not notices_of(one), observed_text(one)


def test_approved_installer_may_write_into_path(watched, environment, home):
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


def test_known_way_to_write_a_users_program_is_asked_about_in_every_mode(watched, environment):
    one = watched(calls(("execute_bash", {"command": "cp hook ~/.local/bin/git"})), says("done"))
    one.session.send("go")
    one.run()
    assert one.session.question is not None


def test_programs_of_other_users_are_not_compared(repo, home, monkeypatch):
    (repo / "node_modules/.bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{repo}/node_modules/.bin:relative:/usr/bin:/no/such:{home}/none/yet")
    assert set(program_directories(str(home), str(repo))) == {
        *(f"{home}/.local/bin", f"{home}/bin", f"{home}/none/yet", f"{repo}/node_modules/.bin", f"{repo}/relative")
    }


def test_files_not_compared_because_of_a_limit_are_reported_once(watched, environment, home, monkeypatch):
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


def test_only_names_are_compared_in_a_directory_with_many_programs(repo, home, monkeypatch):
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


def test_own_version_repository_is_not_a_repository_of_the_project(home):
    locations = Locations.from_environment()
    protected = ProtectedFiles(str(home), str(home), own=(str(locations.data),))
    before = protected.scan()
    SnapshotRepository(locations, home, "one").prepare()
    subprocess.run(["git", "init", "-q", "--bare", "store"], cwd=home, check=True)
    (home / "store/hooks/post-receive").write_text(EVIL)
    assert [change.path for change in changes(before, protected.scan())] == [str(home / "store/hooks/post-receive")]


@pytest.mark.parametrize(
    "path", [".vscode/tasks.json", "AGENTS.md", ".mcp.json", ".github/workflows/ci.yml", "nested/.git/hooks/pre-commit"]
)
def test_names_of_a_git_directory_do_not_reduce_protection(home, tmp_path, path):
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
def test_git_pointer_is_everyday_work_only_in_a_new_worktree(home, repo, name, content):
    protected = ProtectedFiles(str(repo), str(home))
    before = protected.scan()
    (repo / ".git" / name).write_text(content)
    assert [change.path for change in changes(before, protected.scan())] == [str(repo / ".git" / name)]
    (repo / ".git" / name).unlink()
    subprocess.run(["git", "worktree", "add", "-q", "../tree", "-b", "tree"], cwd=repo, check=True)
    assert changes(before, protected.scan()) == []


def installer(directory: Path, name: str, script: str) -> None:
    """Put an installer into the PATH that does what the script does."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


WRITTEN = (f"{SITE}/__editable___x_finder.py", ".venv/bin/git", f"{SITE}/_virtualenv.py", ".venv/bin/activate")


@pytest.mark.parametrize("line", ["pip install -q -e .", "uv sync", "uv venv --clear", "virtualenv .venv"])
def test_installer_named_by_the_line_may_write_what_installers_write(watched, environment, monkeypatch, line):
    directory, name = environment.parent / "bin", line.partition(" ")[0]
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    installer(directory, name, "; ".join(f"cp hook {path}" for path in WRITTEN))
    one = watched(calls(("execute_bash", {"command": line})), says("done"))
    one.session.send("go")
    one.run()
    assert (environment / ".venv/bin/git").exists()
    assert not notices_of(one), observed_text(one)
    installer(directory, name, f"echo 'import os' > {SITE}/x.pth; cp hook ~/.local/bin/git")
    one.agent.script += [calls(("execute_bash", {"command": line})), says("done")]
    one.session.send("again")
    one.run()
    assert "x.pth" in notices_of(one)
    assert ".local/bin/git" in notices_of(one)


@pytest.mark.parametrize(
    "line", ["bash rt.sh pip install", "./pip install x", "python3 rt.py venv", "env X=1 bash rt.sh uv sync"]
)
def test_words_of_an_installer_alone_permit_nothing(watched, environment, line):
    script = "; ".join(f"cp hook {path}" for path in WRITTEN)
    installer(environment, "pip", script)
    (environment / "rt.sh").write_text(script)
    (environment / "rt.py").write_text(f"import os\nos.system({script!r})\n")
    one = watched(calls(("execute_bash", {"command": line})), says("done"))
    one.session.send("go")
    one.run()
    assert all(Path(path).name in notices_of(one) for path in WRITTEN), observed_text(one)


def test_deleted_program_of_the_workspace_no_longer_hides_a_system_program(repo, home, monkeypatch):
    program = repo / "tools/ls"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    protected = ProtectedFiles(
        str(repo), str(home), programs=[str(program.parent)], system_programs=["/usr/bin", "/bin"]
    )
    before = protected.scan()
    assert [path for path in before.files if path.startswith(str(program.parent))] == [str(program)]
    program.unlink()
    assert changes(before, protected.scan()) == [], "what it hid is found again"
