"""The mounts of a sandbox are the ordered ones, whatever changes files at that moment, and whatever files there are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandbox import Sandbox as User
from tests.system_packages import found_or_installed
from workbench.processes.supervised_process import SupervisedProcess
from workbench.sandbox.sandbox import Boundary, Sandbox

pytestmark = [
    pytest.mark.confined,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is bubblewrap's, which runs on Linux"),
]
REFUSED = "Not started: files of the workspace were exchanged just then"


@pytest.fixture(autouse=True)
def bubblewrap() -> str:
    return found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")


@pytest.fixture
def inside(local_sandbox: User) -> Iterator[Sandbox]:
    one = Sandbox(Boundary(local_sandbox.project, local_sandbox.locations, local_sandbox.home))
    yield one
    one.close()


def make_repository(directory: Path) -> Path:
    """Make what counts as a repository, which has mounts of its own in a sandbox."""
    git = directory / ".git"
    for name in ("objects", "refs", "hooks"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").touch()
    return git


def run(inside: Sandbox, directory: Path, script: str) -> str:
    """Return what a shell prints in the sandbox."""
    process = SupervisedProcess(["/bin/sh", "-c", script], directory, sandbox=inside, joined=True)
    output = process.stdout.read().decode()
    process.close()
    return output


EXCHANGES = """
import ctypes, os, time
os.makedirs("n/.git/objects"); os.makedirs("n/.git/refs")
open("n/.git/HEAD", "w").write("ref: refs/heads/main"); open("n/.git/config", "w").close()
os.symlink("../home/other", "link")
exchange = ctypes.CDLL(None).renameat2
print("ready", flush=True)
while True:
    exchange(-100, b"n", -100, b"link", 2)
    time.sleep(0.005)
"""


def test_a_program_that_exchanges_a_directory_for_a_link_opens_nothing_outside(inside: Sandbox, local_sandbox: User):
    other = make_repository(local_sandbox.home / "other")
    exchanging = SupervisedProcess([sys.executable, "-c", EXCHANGES], local_sandbox.project, sandbox=inside)
    assert exchanging.stdout.readline() == b"ready\n"
    outputs = [run(inside, local_sandbox.project, f"echo x > {other}/written; echo ran") for _ in range(12)]
    exchanging.close()
    assert not (other / "written").exists()
    assert all(
        "Read-only" in each or "Directory nonexistent" in each or "bwrap: " in each or REFUSED in each
        for each in outputs
    )


@pytest.mark.parametrize(("times", "says"), [(1, "ran\n"), (99, REFUSED)])
def test_a_sandbox_with_other_files_is_made_again_and_then_refused(
    bubblewrap: str, local_sandbox: User, monkeypatch: pytest.MonkeyPatch, times: int, says: str
):
    """Bubblewrap is started here by a script that exchanges a directory for a link first, and back in between."""
    make_repository(local_sandbox.project / "n")
    other = make_repository(local_sandbox.home / "other")
    program, count = local_sandbox.home / "bin/bwrap", local_sandbox.home / "count"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\ncd {local_sandbox.project}\n[ -L n ] && rm n && mv m n\necho >> {count}\n"
        f"[ $(wc -l < {count}) -gt {times} ] || {{ mv n m && ln -s ../home/other n; }}\n"
        f'cd "$OLDPWD"; exec {bubblewrap} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    inside = Sandbox(Boundary(local_sandbox.project, local_sandbox.locations, local_sandbox.home))
    output = run(inside, local_sandbox.project, f"touch {other}/written 2>/dev/null; echo ran")
    inside.close()
    assert output.startswith(says)
    assert not (other / "written").exists()


@pytest.mark.parametrize(
    "name",
    [b"two words", b"line\nbreak", b"back\\slash", b"back\\040slash", b"\xff\xfe", "ä\u0308 ☃".encode(), b"a,b=c:d"],
)
def test_directories_of_any_name_have_their_mounts(local_sandbox: User, name: bytes):
    workspace = local_sandbox.project / os.fsdecode(name)
    make_repository(workspace / os.fsdecode(name))
    inside = Sandbox(Boundary(workspace, local_sandbox.locations, local_sandbox.home))
    output = run(inside, workspace, "touch made; cd */.git && touch made; touch hooks/made 2>/dev/null || echo held")
    inside.close()
    assert output == "held\n"
    assert (workspace / os.fsdecode(name) / ".git/made").exists()


def test_a_workspace_reached_through_links_has_its_mounts(local_sandbox: User):
    workspace = local_sandbox.home / "real/place"
    make_repository(workspace)
    (workspace / ".vscode").symlink_to("settings")
    (workspace / "settings").mkdir()
    objects = workspace / ".git/objects"
    objects.rename(workspace / "objects")
    objects.symlink_to("../objects")
    (workspace / "objects/info").mkdir()
    (workspace / "objects/info/alternates").touch()
    (local_sandbox.home / "link").symlink_to("real")
    inside = Sandbox(Boundary(local_sandbox.home / "link/place", local_sandbox.locations, local_sandbox.home))
    script = (
        "touch made && for each in .vscode/new objects/info/alternates; do touch $each 2>/dev/null || echo held; done"
    )
    output = run(inside, local_sandbox.home / "link/place", script)
    inside.close()
    assert output == "held\nheld\n"


MOUNTS = {
    "tmpfs": "mount -t tmpfs none data",
    "tmpfs on tmpfs": "mount -t tmpfs none data; mkdir data/in; mount -t tmpfs none data; mount -t tmpfs none data",
    "another directory": "mkdir ../other; mount --bind ../other data",
    "a directory of the workspace": "mkdir there; mount --bind there data",
    "the workspace itself": "mount --bind . .; cd $PWD; mount -t tmpfs none data",
    "an overlay": "mkdir ../l ../u ../w; mount -t overlay -o lowerdir=../l,upperdir=../u,workdir=../w,userxattr o data",
    "shared": "mount --make-rshared /; mount -t tmpfs none data; mkdir -p data/deep; mount -t tmpfs none data/deep",
    "a file": "touch .mcp.json there; mount --bind there .mcp.json",
    "in /run": "mkdir -p $XDG_RUNTIME_DIR; mount -t tmpfs none $XDG_RUNTIME_DIR",
    "in a hidden directory": "mkdir -p $HOME/.ssh; mount -t tmpfs none $HOME/.ssh; touch $HOME/.ssh/id_rsa",
    "above the workspace": "mount --rbind .. ..; cd $PWD; mount -t tmpfs none data",
}


@pytest.mark.parametrize("mounts", MOUNTS.values(), ids=MOUNTS.keys())
def test_what_the_machine_has_mounted_in_the_workspace_is_there_too(local_sandbox: User, mounts: str):
    """All of these are made in namespaces of the test's own."""
    (local_sandbox.project / "data").mkdir()
    repository = "mkdir -p data/lib/.git/objects data/lib/.git/refs data/lib/.git/hooks; echo ref > data/lib/.git/HEAD"
    tries = "touch data/lib/made data/lib/.git/made; touch data/lib/.git/hooks/made || echo held"
    script = f'set -e; {mounts}; {repository}; exec "$0" -m workbench sandbox run -- sh -c "{tries}"'
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script, sys.executable],
        cwd=local_sandbox.project, env=local_sandbox.env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if "unshare: " in done.stderr:
        pytest.skip(f"no namespaces here: {done.stderr.strip()}")
    assert (done.stdout, done.returncode) == ("held\n", 0), done.stderr
