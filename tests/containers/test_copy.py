"""`--container-copy`: the code of an image becomes the workspace, and its changes come back as a patch."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.containers.images import BASH, BUSYBOX, WITH_BASH, Engine, in_each_engine
from tests.sandbox import Sandbox as User
from tests.sandbox import bash, finish
from workbench.config.settings import ContainerSettings
from workbench.sandbox.container import Container
from workbench.sandbox.image_tree import NotADirectoryInImage, unpack
from workbench.sandbox.sandbox import Boundary
from workbench.sandbox.workspace_copy import copy_at
from workbench.tools.execute_bash import BashTool
from workbench.tools.execute_bash.definition import ExecuteBashInSandbox

WITH_CODE = "localhost/ohw-test-code"


def git(directory: Path, *words: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.invalid")
    return subprocess.run(["git", *who, *words], cwd=directory, check=True, capture_output=True, text=True).stdout


def fill(directory: Path) -> None:
    """Write a small project into a directory: a repository with a commit and an ignored file that is tracked."""
    (directory / "src").mkdir(parents=True)
    (directory / "src/add.sh").write_text("echo $(($1 - $2))\n")
    (directory / ".gitignore").write_text("*.log\n")
    (directory / "tracked.log").write_text("one\n")
    (directory / "latin.txt").write_bytes(b"caf\xe9\r\n")
    git(directory, "init", "--quiet")
    git(directory, "add", "--all", "--force")
    git(directory, "commit", "--quiet", "-m", "first")
    (directory / "build.log").write_text("ignored\n")


@pytest.fixture(scope="module")
def code_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of an image with a project in /testbed, which has links out of it."""
    tree = tmp_path_factory.mktemp("image")
    tree.chmod(0o755)  # it becomes the root directory, also for users other than root
    for each in ("bin", "etc", "root", "tmp"):
        (tree / each).mkdir()
    (tree / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    shutil.copy(BASH, tree / "bin/bash")
    shutil.copy(BUSYBOX, tree / "bin/busybox")
    for applet in ("cat", "ls", "rm", "mv", "touch", "mkdir", "sed", "ln"):
        (tree / "bin" / applet).symlink_to("busybox")
    fill(tree / "testbed")
    (tree / "testbed/inside").symlink_to("/testbed/src")
    (tree / "testbed/outside").symlink_to("/etc/passwd")
    (tree / "big").mkdir()
    (tree / "big/file").write_bytes(bytes(1_000_000))
    archive = tree.parent / "image.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(tree, ".")
    return archive


@pytest.fixture
def code(engine: Engine, code_archive: Path) -> str:
    """The name of that image, which the engine has."""
    if not engine("images", "-q", WITH_CODE):
        engine("import", str(code_archive), WITH_CODE)
    return WITH_CODE


def run(user: User, *more: str, command: str = "true", image: str = WITH_CODE) -> subprocess.CompletedProcess[str]:
    model = user.script(bash(command), finish())
    arguments = ("--json", "--model", model, "--mode", "high", "--container", image, *more, "go")
    return user.ohw("run", *arguments)


def copies(user: User) -> list[Path]:
    return sorted(user.locations.data.with_name("ohw-workspaces").glob("*/*"))


@in_each_engine
def test_the_patch_of_a_run_applies_to_the_same_code(user: User, code: str):
    edit = "cat /testbed/src/add.sh && sed -i 's/ - / + /' src/add.sh && echo two > tracked.log && echo more > more.log"
    done = run(
        user, "--container-copy", "/testbed", "--patch", "out.patch", command=f"{edit} && echo $'caf\\xe8' > new"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "out.patch has the patch of 3 changed files" in done.stderr
    checkout = user.home / "checkout"
    fill(checkout)
    git(checkout, "apply", str(user.project / "out.patch"))
    assert (checkout / "src/add.sh").read_text() == "echo $(($1 + $2))\n"
    assert (checkout / "tracked.log").read_text() == "two\n"
    assert (checkout / "new").read_bytes() == b"caf\xe8\n"
    assert not (checkout / "more.log").exists(), "git ignores it"
    assert list(user.project.iterdir()) == [user.project / "out.patch"], "the directory of the start is left alone"


def test_commands_have_the_code_at_the_images_path_and_at_its_own(user: User, code: str):
    look = "pwd; cat /testbed/src/add.sh; touch at-own-path; ls /testbed/at-own-path; cat /testbed/inside/add.sh"
    done = run(user, "--container-copy", "/testbed", command=look)
    (directory,) = copies(user)
    assert str(directory) in done.stdout
    assert "/testbed/at-own-path" in done.stdout
    assert done.stdout.count("echo $(($1 - $2))") >= 2
    assert f"ohw export --workspace {directory}" in done.stderr
    assert not (directory / "outside").is_symlink(), "a link out of the directory is not copied"
    assert "not copied: outside: a link to /etc/passwd, which leads out" in done.stderr


def test_protected_files_are_read_only_at_both_paths(user: User):
    git(user.project, "init", "--quiet")
    (user.project / "free").write_text("")
    boundary = Boundary(user.project, user.locations, user.home, container_path="/code")
    container = Container(ContainerSettings(image=WITH_BASH), boundary, user.home / "state/outputs")
    tool = BashTool(user.project, state_dir=user.home / "state", sandbox=container)
    assert tool.executor is not None
    write = "for each in . /code; do for file in .git/hooks/x .git/config free; do echo y >> $each/$file; done; done"
    done = tool.executor(ExecuteBashInSandbox(command=f"({write}) 2>&1; cat /code/free"))
    tool.executor.close()
    container.close()
    assert done.output.count("Read-only file system") == 4
    assert (user.project / "free").read_text() == "y\ny\n"
    assert done.output.endswith("y\ny\n")


@pytest.mark.parametrize("mode", ["high", "medium"])
def test_a_run_writes_by_the_images_path_without_a_question(user: User, code: str, mode: str):
    commands = (
        "echo absolute > /testbed/absolute",
        "cd /testbed/src && echo relative > ../relative",
        "echo later > later; pwd",  # the shell is still at the image's path
        "ln -s /testbed/src /testbed/link && echo linked > link/../link/linked",
        "rm /testbed/relative",
    )
    model = user.script(*(bash(each, "MEDIUM") for each in commands), finish())
    arguments = ("--json", "--model", model, "--mode", mode, "--container", WITH_CODE)
    done = user.ohw("run", *arguments, "--container-copy", "/testbed", "go")
    assert done.returncode == 0, done.stdout + done.stderr
    (directory,) = copies(user)
    assert (directory / "absolute").read_text() == "absolute\n"
    assert (directory / "src/later").read_text() == "later\n"
    assert not (directory / "relative").exists()
    assert "/testbed/src" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        "echo x > /testbed/.git/hooks/pre-commit",
        "cd /testbed && echo x > .git/config",
        "cd /testbed/src && echo x > ../.git/config",
        "cat /testbed/.env",
        "echo x > /testbed/../elsewhere",
    ],
)
def test_a_run_stops_at_what_is_protected_or_outside_by_the_images_path(user: User, code: str, command: str):
    done = run(user, "--container-copy", "/testbed", command=command)
    assert done.returncode == 3, done.stdout + done.stderr


def test_a_session_in_a_copy_gets_its_image_again_and_can_be_exported(user: User, code: str):
    assert run(user, "--container-copy", "/testbed").returncode == 0
    (directory,) = copies(user)
    model = user.script(bash("echo changed > src/add.sh; cat /testbed/src/add.sh"), finish())
    again = user.ohw("run", "--model", model, "--mode", "high", "--workspace", str(directory), "go")
    assert again.returncode == 0, again.stdout + again.stderr
    patch = user.command("export", "--workspace", str(directory), "--patch").stdout
    assert "+changed" in patch
    user.command("export", "--workspace", str(directory), "-o", "one.diff")
    assert (user.project / "one.diff").read_text() == patch


def test_a_workspace_that_is_no_copy_has_no_patch(user: User):
    model = user.script(finish())
    assert user.ohw("run", "--model", model, "go").returncode == 0
    refused = user.command("export", "--patch")
    assert (refused.returncode, "is no copy" in refused.stderr) == (2, True)


@in_each_engine
def test_a_directory_that_the_image_does_not_have_is_named(user: User, code: str):
    done = run(user, "--container-copy", "/nope")
    assert f"there is no directory /nope in the image {WITH_CODE}" in done.stderr
    assert copies(user) == []


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--container-copy", "/etc/passwd"), "/etc/passwd is a file in the image"),
        (("--container-copy", "testbed"), "absolute path"),
        (("--container-copy", "/"), "absolute path"),
        (("--container-copy", "/a/../testbed"), "absolute path"),
        (("--patch", "x.patch"), "--patch needs --container-copy"),
        (("--container-copy", "/testbed", "--patch", "no/x.patch"), "existing directory"),
        (("--container-copy", "/testbed", "--workspace", "."), "not both"),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(each).replace("/", "_"),
)
def test_what_cannot_be_copied_is_named_and_leaves_nothing(user: User, code: str, more: tuple[str, ...], says: str):
    done = run(user, *more)
    assert done.returncode in (1, 2)
    assert says in done.stderr
    assert copies(user) == []
    assert list((user.locations.data / "copies").glob("*")) == []


def test_an_image_that_is_not_there_is_named(user: User):
    done = run(user, "--container-copy", "/testbed", image="127.0.0.1:1/absent")
    assert (done.returncode, "the image 127.0.0.1:1/absent cannot be fetched" in done.stderr) == (1, True)
    assert copies(user) == []


def test_a_copy_is_of_this_machine(user: User):
    done = user.ohw("ssh://host/srv", "--container", "x", "--container-copy", "/testbed")
    assert (done.returncode, "this machine only" in done.stderr) == (2, True)


def test_a_full_disk_is_named_and_leaves_nothing(user: User, code: str):
    # No file of ohw may grow beyond 16 kB, which stands for a disk that is full; podman has no such limit.
    podman = user.home / "bin/podman"
    podman.parent.mkdir()
    podman.write_text(f'#!/bin/bash\nulimit -S -f unlimited\nexec {shutil.which("podman")} "$@"\n')
    podman.chmod(0o755)
    limited = [*("bash", "-c", 'ulimit -S -f 16; exec "$@"', "bash"), sys.executable, "-m", "workbench", "run"]
    arguments = ("--model", user.script(finish()), "--container", code, "--container-copy", "/big", "go")
    env = {**user.env, "PATH": f"{podman.parent}:{user.env['PATH']}"}
    done = subprocess.run([*limited, *arguments], env=env, cwd=user.project, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "/big cannot be copied from the image localhost/ohw-test-code: File too large" in done.stderr
    assert copies(user) == []


def test_a_copy_needs_an_image(user: User):
    done = user.ohw("run", "--model", user.script(finish()), "--container-copy", "/testbed", "go")
    assert (done.returncode, "--container IMAGE" in done.stderr) == (2, True)


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> io.BytesIO:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for member, content in members:
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    out.seek(0)
    return out


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, 0o4777
    return info


TOP = (member("code", tarfile.DIRTYPE), b"")
LINK, HARD = tarfile.SYMTYPE, tarfile.LNKTYPE


@pytest.mark.parametrize(
    "members",
    [
        [(member("code/../../escaped"), b"x")],
        [(member("code/a", LINK, ".."), b""), (member("code/a/escaped"), b"x")],
        [(member("code/a", LINK, "../.."), b"")],
        [(member("code/a", LINK, "/"), b"")],
        [(member("code/a", LINK, "/code/../etc"), b"")],
        [(member("code/p", LINK, "."), b""), (member("code/q", LINK, "p/.."), b"")],
        [
            (member("code/a/b/c", LINK, "../.."), b""),
            (member("code/a/b/c/z", LINK, "../../../q"), b""),
            (member("code/z/escaped"), b"x"),
        ],
        [(member("code/a", HARD, "code/../../secret"), b"")],
        [(member("code/a", HARD, "/etc/passwd"), b"")],
        [(member("code/a", tarfile.FIFOTYPE), b""), (member("code/b", tarfile.CHRTYPE), b"")],
    ],
)
def test_nothing_in_an_image_leads_out_of_the_copy(tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]):
    (tmp_path / "secret").write_text("secret")
    target = tmp_path / "target"
    target.mkdir()
    tree = unpack(archive(TOP, *members), "/code", target)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["secret", "target"]
    for each in target.rglob("*"):
        assert each.resolve().is_relative_to(target), each
        assert each.is_file() or each.is_dir() or each.is_symlink()
        assert each.is_symlink() or not each.stat().st_mode & 0o7000
    assert tree.omitted or (target / "a/escaped").is_file()


def test_links_within_the_directory_are_copied(tmp_path: Path):
    (tmp_path / "target").mkdir()
    members = [
        (member("code/src/one"), b"1"),
        (member("code/src/hard", HARD, "code/src/one"), b""),
        (member("code/up", LINK, "/code/src/one"), b""),
        (member("code/src/top", LINK, "../up"), b""),
        (member("code/src/self", LINK, "."), b""),
    ]
    tree = unpack(archive(TOP, *members), "/code", tmp_path / "target")
    assert (tree.files, tree.size, tree.omitted) == (1, 1, [])
    assert {(tmp_path / "target" / each).read_text() for each in ("src/hard", "up", "src/top", "src/self/one")} == {"1"}
    assert (tmp_path / "target/src/one").stat().st_nlink == 1, "every mode asks about a file that has several names"


def test_a_link_in_the_place_of_the_directory_is_named(tmp_path: Path):
    with pytest.raises(NotADirectoryInImage, match="is a link to there"):
        unpack(archive((member("code", LINK, "there"), b"")), "/code", tmp_path)


def test_a_directory_of_the_user_is_no_copy(local_sandbox: User):
    assert copy_at(local_sandbox.locations, local_sandbox.project) is None


def test_the_dockerfile_may_have_a_list_of_ignored_files_of_its_own(user: User):
    (user.project / "Dockerfile").write_text(f"FROM {WITH_BASH}\nCOPY . /context\n")
    for name in ("one.secret", "two.secret"):
        (user.project / name).write_text("secret")
    settings = user.locations.settings_file
    settings.parent.mkdir(parents=True)
    settings.write_text(f'trusted = ["{user.project}"]\n[container]\ndockerfile = "Dockerfile"\n')
    arguments = ("--json", "--model", user.script(bash("ls -a /context"), finish()), "--mode", "high", "go")
    (user.project / ".dockerignore").write_text("one.*\n")
    first = user.ohw("run", *arguments).stdout
    assert ("one.secret" in first, "two.secret" in first) == (False, True)
    (user.project / "Dockerfile.dockerignore").write_text("two.*\n")
    second = user.ohw("run", *arguments).stdout
    assert ("one.secret" in second, "two.secret" in second) == (True, False)
