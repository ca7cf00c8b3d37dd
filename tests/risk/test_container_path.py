"""A container may have the workspace at a second path: what commands do there is rated as in the workspace."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.protocol.risk import Risk
from workbench.risk import Assessment
from workbench.risk.commands import assess_command
from workbench.risk.executed_files import executed_files
from workbench.risk.paths import PathContext


@pytest.fixture
def context(tmp_path: Path) -> PathContext:
    """A workspace with a repository, a link in it that leads out, and one to the path in the container."""
    workspace = tmp_path / "copies/testbed"
    (workspace / "src/deep").mkdir(parents=True)
    (workspace / "src/add.py").write_text("x = 1\n")
    for name in ("objects", "refs", "hooks", "info"):
        (workspace / ".git" / name).mkdir(parents=True)
    (workspace / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (workspace / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
    (workspace / "out").symlink_to("/etc")
    (workspace / "again").symlink_to("/testbed/src")
    (workspace / "hooks").symlink_to("/testbed/.git/hooks")
    (workspace / "circle").symlink_to("/testbed/circle")
    (workspace / "inner").symlink_to(".git/hooks")
    return PathContext(str(workspace), str(tmp_path / "home"), container_path="/testbed")


def rated(command: str, context: PathContext) -> Assessment:
    return assess_command(command, context)


IN_BOTH = [
    "touch {}/new",
    "sed -i s/1/2/ {}/src/add.py",
    "cat {}/src/add.py",
    "cd {} && touch new",
    "cd {}/src && touch ../new",
    "cd {}/src/deep && cd .. && touch new",
    "cd {}/src/.. && touch new",
    "touch {}/src/../new",
    "echo x >> {}/src/add.py",
    "cp {}/src/add.py {}/src/more.py",
    "rm {}/src/add.py",
    "rm -r {}/src",
    "rm -rf {}",
    "rm -rf {}/*",
    "mv {}/src/add.py {}/src/b.py",
    "touch {}/again/new",
    "touch {}/out/new",
    "echo x > {}/.git/hooks/pre-commit",
    "echo x > {}/hooks/pre-commit",
    "echo x > {}/inner/pre-commit",
    "echo x > {}/src/../.git/config",
    "cd {}/.git && echo x > config",
    "git -C {} status",
    "git -C {} config core.hooksPath x",
    "cat {}/.env",
    "python -c \"open('{}/src/add.py', 'w').write('x')\"",
    "python -c \"open('{}/.git/hooks/x', 'w').write('x')\"",
    "python -m pytest {}/tests",
    "bash {}/src/run.sh",
    "make -C {} all",
    "tar -xf x.tar -C {}",
    "ln -s {}/.git l && echo x > l/config",
    "ln -s /etc {}/l && echo x > {}/l/x",
]


@pytest.mark.parametrize("command", IN_BOTH)
def test_a_command_is_rated_the_same_by_both_paths(command: str, context: PathContext):
    own = rated(command.replace("{}", context.workspace), context)
    there = rated(command.replace("{}", "/testbed"), context)
    assert (there.risk, there.reasons) == (own.risk, own.reasons)
    for one, other in zip(there.parts, own.parts, strict=True):
        for name in ("changes", "deletes", "protected", "directories", "words", "mentions"):
            assert [context.resolved(each) for each in getattr(one, name)] == [
                context.resolved(each) for each in getattr(other, name)
            ]


@pytest.mark.parametrize(
    ("command", "risk"),
    [
        ("touch /testbed/new", "MEDIUM"),
        ("cat /testbed/src/add.py", "LOW"),
        ("cd /testbed && touch new", "MEDIUM"),
        ("touch /testbed/../testbed/new", "MEDIUM"),
        ("touch /opt/../testbed/new", "MEDIUM"),
        ("touch /testbed/again/../new", "MEDIUM"),
        ("touch /testbed/../new", "HIGH"),
        ("touch /testbed/../testbed-2/new", "HIGH"),
        ("touch /testbed2/new", "HIGH"),
        ("touch /opt/testbed/new", "HIGH"),
        ("touch /testbed/out/new", "HIGH"),
        ("touch /testbed/out/../new", "HIGH"),
        ("touch /testbed/circle/new", "MEDIUM"),
        ("cd /testbed && rm -rf .", "HIGH"),
        ("rm -rf /testbed", "HIGH"),
        ("cat /testbed/.env", "HIGH"),
    ],
)
def test_what_leads_out_of_the_workspace_is_outside_by_both_paths(command: str, risk: Risk, context: PathContext):
    assert rated(command, context).risk == risk


@pytest.mark.parametrize(
    "path",
    [
        "/testbed/.git/hooks/pre-commit",
        "/testbed/./.git/config",
        "/testbed/src/../.git/config",
        "/testbed/../testbed/.git/config",
        "/testbed/hooks/pre-commit",
        "/testbed/inner/../config",
        "/testbed/../testbed/inner/../config",
        "/testbed/../../testbed/inner/../config",
        "/usr/../testbed/inner/../config",
        "/testbed/src/deep/../../inner/../config",
    ],
)
def test_protected_files_are_protected_by_both_paths(path: str, context: PathContext):
    (part,) = (each for each in rated(f"echo x > {path}", context).parts if each.is_redirect)
    assert part.risk == "HIGH"
    assert part.protected


@pytest.mark.parametrize("path", ["../testbed/.git/config", "src/../.git/config", "inner/../config", "hooks/x"])
def test_protected_files_are_protected_by_a_path_relative_to_the_second_path(path: str, context: PathContext):
    parts = rated(f"cd /testbed && echo x > {path}", context).parts
    assert any(each.protected for each in parts if each.is_redirect)


def test_files_that_git_runs_by_its_settings_are_protected_at_the_second_path_too(context: PathContext):
    Path(context.workspace, ".git/config").write_text("[core]\n\thooksPath = src/deep\n")
    assert rated("echo x > /testbed/src/deep/pre-commit", context).parts[-1].protected
    assert context.protects("/testbed/src/deep/pre-commit")
    assert not context.protects("/testbed/src/add.py")


def test_a_directory_that_holds_the_second_path_is_protected_from_deletion(context: PathContext):
    there = context.in_container("/opt/code/testbed")
    assert there.protects("/opt/code", deep=True)
    assert not there.protects("/opt/other", deep=True)


def test_without_a_container_the_path_is_outside(context: PathContext):
    assert rated("touch /testbed/new", context.in_container("")).risk == "HIGH"


def test_a_shell_that_is_at_the_second_path_is_in_the_workspace(context: PathContext):
    parts = assess_command("echo x > new", context, "/testbed/src").parts
    assert parts[-1].changes == (f"{context.workspace}/src/new",)


def test_a_script_is_bound_to_its_content_by_both_paths(context: PathContext):
    script = Path(context.workspace, "src/run.sh")
    script.write_text("source /testbed/src/lib.sh\n")
    (script.parent / "lib.sh").write_text("echo lib\n")
    parts = rated("bash /testbed/src/run.sh", context).parts
    files = executed_files(parts, context.workspace, context.workspace, second="/testbed")
    assert {str(script), str(script.parent / "lib.sh")} <= files.keys()
