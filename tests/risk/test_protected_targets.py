"""Writing to a directory or file to which a protected link or a setting of git leads is HIGH, however it is named."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.risk.commands import assess_command
from workbench.risk.paths import PathContext
from workbench.risk.protected_files import ProtectedFiles

pytestmark = pytest.mark.starts


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def work(tmp_path: Path, monkeypatch) -> Path:
    for name in ("GIT_CONFIG_GLOBAL", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("home/.config", "home/dots", "work/shared/hooks", "work/shared/workflows", "work/src", "work/store"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    git(tmp_path / "work", "init", "-q")
    return tmp_path / "work"


def rating(work: Path, line: str) -> tuple[str, bool]:
    """The risk, and whether the line names a protected path, which every mode asks about."""
    assessment = assess_command(line, PathContext(str(work), str(work.parent / "home")))
    return assessment.risk, any(part.protected for part in assessment.parts)


def linked(name: str, target: str) -> Callable[[Path], None]:
    def make(work: Path) -> None:
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.path.relpath(work / target, path.parent))

    return make


def moved_git(work: Path) -> None:
    (work / "store").rmdir()
    (work / ".git").rename(work / "store")
    (work / ".git").symlink_to("store")


def pointed_git(work: Path) -> None:
    moved_git(work)
    (work / ".git").unlink()
    (work / ".git").write_text("gitdir: store\n")


def linked_hooks(work: Path) -> None:
    for path in (work / ".git/hooks").iterdir():
        path.unlink()
    (work / ".git/hooks").rmdir()
    (work / ".git/hooks").symlink_to("../shared")


def bare(work: Path) -> None:
    git(work, "init", "-q", "--bare", "store")


def setting(text: str, file: str = ".git/config") -> Callable[[Path], None]:
    def make(work: Path) -> None:
        with (work / file).open("a") as opened:
            opened.write(text)

    return make


LEADS: dict[str, tuple[Callable[[Path], None], str]] = {
    "a directory of the editor": (linked(".vscode", "shared"), "shared/tasks.json"),
    "one in other letters": (linked(".VSCode", "shared"), "shared/tasks.json"),
    "a nested one": (linked("packages/one/.idea", "packages/one/shared"), "packages/one/shared/x.xml"),
    "one through another link": (
        lambda work: (linked("between", "shared")(work), linked(".claude", "between")(work)),
        "shared/settings.json",
    ),
    "the beginning of a protected path": (linked(".github", "shared"), "shared/workflows/ci.yml"),
    "the end of a protected path": (linked(".github/workflows", "shared"), "shared/ci.yml"),
    "a link in a protected directory": (linked(".claude/commands", "shared"), "shared/do.md"),
    "a protected file": (linked("AGENTS.md", "shared/agents.txt"), "shared/agents.txt"),
    "a repository behind a link": (moved_git, "store/hooks/pre-commit"),
    "its settings": (moved_git, "store/config"),
    "a repository behind a file": (pointed_git, "store/hooks/pre-commit"),
    "hooks behind a link": (linked_hooks, "shared/pre-commit"),
    "hooks of a bare repository": (bare, "store/hooks/post-receive"),
    "settings of a bare repository": (bare, "store/config"),
    "a directory of hooks": (setting('[core] hooksPath = "shared/hooks" ; ours\n'), "shared/hooks/pre-commit"),
    "hooks in the top directory": (setting("[core]\nhooksPath = .\n"), "pre-commit"),
    "hooks that the user's settings look for here": (
        setting("[core]\nhooksPath = shared/hooks\n", "../home/.gitconfig"),
        "shared/hooks/pre-push",
    ),
    "an included file": (setting("[include]\n\tpath = ../shared/x.cfg # ours\n"), "shared/x.cfg"),
    "a file of the home directory": (linked("../home/.bashrc", "shared/bashrc"), "shared/bashrc"),
    "a directory of the home directory": (linked("../home/.ssh", "shared"), "shared/authorized_keys"),
    "a directory of the configuration": (linked("../home/.config/git", "shared"), "shared/config"),
}
WRITES = ("echo x > {}", "cp src/a {}", "ln -sf ../src/a {}", "sed -i s/a/b/ {}", "cat > {} <<E\nx\nE", "mv src/a {}")


@pytest.mark.parametrize("way", LEADS)
def test_target_of_a_protected_name_is_protected(work, way):
    make, path = LEADS[way]
    before = {line: rating(work, line.format(path)) for line in WRITES}
    assert {risk for risk, _ in before.values()} == {"MEDIUM"} or "home" in way
    make(work)
    assert {line: rating(work, line.format(path)) for line in WRITES} == dict.fromkeys(WRITES, ("HIGH", True))
    assert rating(work, f"cd {Path(path).parent} && echo x > {Path(path).name}") == ("HIGH", True)


@pytest.mark.parametrize("way", LEADS)
def test_files_beside_a_protected_target_are_not_protected(work, way):
    LEADS[way][0](work)
    for path in ("src/a", "other", "shared2/tasks.json", "README.md"):
        assert rating(work, f"echo x > {path}") == ("MEDIUM", False)


def test_distant_links_found_by_a_scan_protect_their_targets(work):
    linked("packages/one/.vscode", "tools/vscode")(work)
    (work / "tools/vscode").mkdir(parents=True)
    ProtectedFiles(str(work), str(work.parent / "home")).scan()
    assert rating(work, "echo x > tools/vscode/tasks.json") == ("HIGH", True)


def test_names_of_a_bare_repository_protect_only_what_git_runs(work):
    for name in ("objects", "refs"):
        (work / name).mkdir()
    (work / "HEAD").write_text("x")
    assert rating(work, "echo x > src/a") == ("MEDIUM", False)
    assert rating(work, "echo x > README.md") == ("MEDIUM", False)
    assert rating(work, "echo x > hooks/pre-commit") == ("HIGH", True)


OWN = {
    "XDG_CONFIG_HOME": ("home/.config", "settings.toml"),
    "XDG_DATA_HOME": ("home/.local/share", "mcp/0a.json"),
    "XDG_STATE_HOME": ("home/.local/state", "logs/x.log"),
    "XDG_RUNTIME_DIR": ("", "x.sock"),
}


@pytest.mark.parametrize("variable", OWN)
@pytest.mark.parametrize("is_set", [False, True])
def test_own_records_are_protected_wherever_they_are(work, monkeypatch, variable, is_set):
    directory, name = OWN[variable]
    monkeypatch.delenv(variable, raising=False)
    base = f"{work.parent}/{directory}/ohw"
    if is_set:
        monkeypatch.setenv(variable, "/tmp/elsewhere")  # a longer path would be too long for sockets
        base = "/tmp/elsewhere/ohw"
    elif not directory:
        base = f"/tmp/ohw-{os.getuid()}"
    for line in (f"echo x > {base}/{name}", f"rm -rf {base}", f"cd {base} && cp /tmp/x {name}", f"touch {base}/{name}"):
        assert rating(work, line) == ("HIGH", True), line
    assert rating(work, f"ls {base}")[0] != "HIGH"


def test_own_records_in_the_workspace_are_protected(work, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(work / "data"))
    assert rating(work, "echo x > data/ohw/sessions/x.session") == ("HIGH", True)
    assert rating(work, "echo x > data/other/x") == ("MEDIUM", False)
