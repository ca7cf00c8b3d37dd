"""What is done in a project every day works in the sandbox, with one question for each host: real pip, npm and git."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.package_servers import NAME, serve_packages, serve_repository
from tests.plain.test_plain import answer, asked, leave, log
from tests.sandbox import Sandbox as User
from tests.sandbox import bash, finish
from tests.system_packages import found_or_installed
from tests.terminal.terminal import Terminal
from workbench.protocol.events import ActionObserved

pytestmark = [
    pytest.mark.confined,
    pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is bubblewrap's, which runs on Linux"),
]
PACKAGES, REPOSITORY = "127.0.0.2", "127.0.0.3"
"""Addresses of this machine that programs do not take for themselves, so that they use the proxy."""
GIT = ("git", "-c", "user.name=n", "-c", "user.email=e", "-c", "init.defaultBranch=main")


def git(directory: Path, *words: str) -> None:
    subprocess.run([*GIT, *words], cwd=directory, check=True, capture_output=True)


@pytest.fixture(autouse=True)
def programs() -> None:
    found_or_installed(lambda: shutil.which("bwrap"), "bubblewrap")
    for each in ("npm", "openssl", "curl"):
        if shutil.which(each) is None:
            pytest.skip(f"{each} is not installed on this machine")


@pytest.fixture
def environment(sandbox: User) -> str:
    """Return a virtual environment of the project with pip and pytest."""
    for python in (f"{sys.base_prefix}/bin/python3", "/usr/bin/python3"):
        done = subprocess.run([python, "-m", "venv", "--copies", ".venv"], cwd=sandbox.project, capture_output=True)
        if done.returncode == 0:
            (packages,) = sandbox.project.glob(".venv/lib/*/site-packages")
            (packages / "pytest.pth").write_text(str(Path(pytest.__file__).parent.parent))
            return ".venv"
    pytest.skip("no Python on this machine makes an environment with pip")


@pytest.fixture
def remote(sandbox: User, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of a repository that is one commit ahead of the project's own, which was cloned from it."""
    work, served = tmp_path / "work", tmp_path / "served"
    work.mkdir()
    git(work, "init", "-q")
    git(work, "commit", "-q", "--allow-empty", "-m", "first")
    served.mkdir()
    git(work, "clone", "-q", "--bare", ".", str(served / "project.git"))
    git(sandbox.project, "clone", "-q", str(work), ".")
    git(work, "commit", "-q", "--allow-empty", "-m", "second commit")
    git(work, "push", "-q", str(served / "project.git"), "HEAD")
    with serve_repository(REPOSITORY, served) as url:
        git(sandbox.project, "remote", "set-url", "origin", f"{url}/project.git")
        yield url


@pytest.mark.timeout(360)  # real package managers: on a busy machine each takes long
def test_packages_commits_tests_and_a_server_take_two_questions(
    sandbox: User, remote: str, environment: str, tmp_path: Path
):
    project = sandbox.project
    (project / "test_demo.py").write_text(f"import {NAME}\n\ndef test_it():\n    assert {NAME}.answer() == 42\n")
    (project / "package.json").write_text('{"name": "project", "version": "1.0.0"}')
    with serve_packages(PACKAGES, tmp_path) as (url, certificate):
        shutil.copy(certificate, project / "certificate.pem")
        for path, text in (
            (sandbox.locations.settings_file, f'[tools.web_read]\nprivate = ["{PACKAGES}", "{REPOSITORY}"]\n'),
            (
                project / environment / "pip.conf",
                f"[global]\nindex-url = {url}/simple/\ncert = {project}/certificate.pem\n",
            ),
            (project / ".npmrc", f"registry={url}/\ncafile={project}/certificate.pem\n"),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        model = sandbox.script(
            bash(f"{environment}/bin/pip install -q {NAME} && ls {environment}/lib/*/site-packages"),
            bash(f"npm install {NAME} && node -e 'console.log(require(\"{NAME}\")())'"),
            bash("git fetch -q origin && git merge -q origin/main && git log --oneline"),
            bash(f"{environment}/bin/python -m pytest -q test_demo.py"),
            bash(
                "python3 -m http.server --bind 127.0.0.1 8123 > log 2>&1 &"
                " sleep 1; curl -sS http://localhost:8123/package.json"
            ),
            finish(),
        )
        args = ("go", "--plain", "--model", model, "--mode", "high", "--workspace", str(project))
        foreign = (
            "PIP_",
            "PYTEST_",
            "npm_config_",
            "REQUESTS_CA_BUNDLE",
            "CURL_CA_BUNDLE",
            "SSL_CERT",
            "NODE_EXTRA_CA_CERTS",
        )
        env = {name: value for name, value in sandbox.env.items() if not name.startswith(foreign)}
        with Terminal(args, 100, 150, {**env, "OHW_SANDBOX": "workspace-write"}) as terminal:
            for _ in range(2):
                answer(terminal, "always")
                answer(terminal, "session", "or back?")
            asked(terminal, "\n>")
            shown = terminal.raw.decode()
            leave(terminal)
    outputs = [str(event.observation) for event in log(sandbox) if isinstance(event, ActionObserved)]
    parts = (f"{NAME}.py", "42", "second commit", "1 passed", "1.0.0")
    for output, part in zip(outputs[: len(parts)], parts, strict=True):
        assert part in output
    assert shown.count("Question: may") == 2
