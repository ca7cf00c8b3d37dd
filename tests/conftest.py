"""Fixtures of several directories: a user's home, project and environment, and a check for leftover processes."""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import certifi
import psutil
import pytest

from tests.compile_once import pytest_collection
from tests.fakes.memory_keyring import MemoryKeyring
from tests.quick import (
    pytest_collection_modifyitems,
    pytest_ignore_collect,
    pytest_runtest_call,
    pytest_runtest_setup,
)
from tests.sandbox import Sandbox
from workbench.llm.litellm_setup import QUIET
from workbench.sandbox.session_sandbox import SessionSandbox

__all__ = [
    "pytest_collection",
    "pytest_collection_modifyitems",
    "pytest_ignore_collect",
    "pytest_runtest_call",
    "pytest_runtest_setup",
]

_PROVIDER = ("KEY", "TOKEN", "SECRET", "OHW_", "OPENAI", "ANTHROPIC", "GEMINI", "XDG_", "LITELLM")
_NO_KEYRING = "keyring.backends.fail.Keyring"
"""Settings with which no test reads or writes the keyring of the user who runs the tests."""
_LONGEST_ID = 80
_ENVIRONMENT = pytest.StashKey[dict[str, str]]()
_NUMBERS: Mapping[str, Iterator[int]] = defaultdict(itertools.count)
_is_confined = False
_UNWANTED = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "COLUMNS", "LINES"}
"""Variables that do not apply to a user: their Python keeps compiled files, and their terminal reports its own size."""


def pytest_configure(config: pytest.Config) -> None:
    """Point the home directory elsewhere, so that no test reads or writes the home of the user who runs the tests."""
    home = Path(tempfile.mkdtemp(prefix="ohw-test-home-"))
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    os.environ.setdefault("npm_config_cache", str(Path.home() / ".npm"))  # reuses packages that npm has fetched
    os.environ["HOME"] = str(home)
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    os.environ["PYTHON_KEYRING_BACKEND"] = _NO_KEYRING
    os.environ["OHW_SCRIPT_PACE"] = "0"  # no test waits for text at the pace of a reader
    os.environ["SSL_CERT_FILE"] = _one_authority(home)
    _keep_bytecode()


def _one_authority(home: Path) -> str:
    """Write a file with one certificate authority; each HTTP client would spend 25 ms of CPU on reading them all."""
    path = home / "authority.pem"
    first, end, _ = Path(certifi.where()).read_text(encoding="utf-8").partition("-----END CERTIFICATE-----\n")
    path.write_text(first + end, encoding="utf-8")
    return str(path)


def _keep_bytecode() -> None:
    """Write bytecode in this process and its children; otherwise each worker compiles all tests in each run."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def pytest_make_parametrize_id(val: object) -> str | None:
    """Shorten an id made of a long text: workers send the ids of all tests, and again with each result."""
    if isinstance(val, str | bytes) and len(val) > _LONGEST_ID:
        return f"{ascii(val[:_LONGEST_ID])[:_LONGEST_ID]}... ({len(val)})"
    return None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Exclude the objects made by collection, which live to the end of the run, from every garbage collection."""
    session.config.stash[_ENVIRONMENT] = _environment_now()
    gc.collect()
    gc.freeze()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new directory, as pytest's own, which would read the names of all earlier ones to find the next number."""
    name = re.sub(r"\W", "_", request.node.name)[:29]
    return tmp_path_factory.mktemp(f"{name}_{next(_NUMBERS[name])}", numbered=False)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    runtime = Path(tempfile.mkdtemp(prefix="ohw-test-", dir="/tmp"))  # a socket's name must be short
    sandbox = Sandbox(home, project, _environment(home, runtime))
    earlier = frozenset(psutil.pids())
    yield sandbox
    for process in sandbox.processes(without=earlier):
        with contextlib.suppress(psutil.Error):
            process.kill()
    shutil.rmtree(runtime, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def _unconfined() -> Iterator[None]:
    """Sessions in the process of a test have no sandbox, unless it is marked `confined`: its proof takes 0.2 s."""
    initialize = SessionSandbox.__init__

    def initialize_as_marked(self: SessionSandbox, kind: Any, *more: Any) -> None:
        initialize(self, kind if _is_confined else "off", *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SessionSandbox, "__init__", initialize_as_marked)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note whether the sessions of the test have a sandbox."""
    global _is_confined
    _is_confined = item.get_closest_marker("confined") is not None
    return (yield)


@pytest.fixture
def local_sandbox(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """The same sandbox, also as the environment of the test's own process."""
    for name in set(os.environ) - set(sandbox.env):
        monkeypatch.delenv(name)
    for name, value in sandbox.env.items():
        monkeypatch.setenv(name, value)
    return sandbox


def _environment(home: Path, runtime: Path) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not any(part in name for part in _PROVIDER)}
    env = {name: value for name, value in environment.items() if name not in _UNWANTED}
    env |= {
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(runtime),
        "TMPDIR": str(home),
        "OHW_SCRIPT_PACE": "0",
        "OHW_SANDBOX": "off",
    }
    env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "TEXTUAL_ANIMATIONS": "none"}
    return env | {"OPENAI_API_KEY": "sk-of-the-test", "PYTHON_KEYRING_BACKEND": _NO_KEYRING}


@pytest.fixture
def memory_keyring(monkeypatch: pytest.MonkeyPatch) -> MemoryKeyring:
    """Install a working keyring for this process."""
    made = MemoryKeyring()
    monkeypatch.setattr("keyring.core._keyring_backend", made)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Fail the last test of a directory if the environment is not what it was: a later test would read it."""
    yield
    if nextitem is None or nextitem.path.parent != item.path.parent:
        changed = sorted(dict(_environment_now().items() ^ item.config.stash[_ENVIRONMENT].items()))
        item.config.stash[_ENVIRONMENT] = _environment_now()  # one directory alone is reported
        if changed:
            pytest.fail(f"the tests in {item.path.parent} leave the environment changed: {', '.join(changed)}", False)


def _environment_now() -> dict[str, str]:
    # litellm sets the last at its first count of tokens; no child gets it, as a name with TOKEN in it
    ours = {"PYTEST_CURRENT_TEST", *QUIET, "TIKTOKEN_CACHE_DIR"}
    return {name: value for name, value in os.environ.items() if name not in ours}


@pytest.fixture(scope="module", autouse=True)
def _only_what_a_module_makes_is_collected() -> None:
    """Exclude what earlier modules of this worker left behind from every garbage collection."""
    gc.collect()
    gc.freeze()
