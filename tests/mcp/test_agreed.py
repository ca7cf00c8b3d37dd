"""What a server is started from is pinned, and its environment holds no key that it was not given."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import FAKE, Place
from workbench.mcp.config import ServerConfig, read_server, server_environment
from workbench.mcp.errors import ServerFailed
from workbench.mcp.stdio import started_files


def write(path: Path, text: str, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def own_server(place: Place, **told: Any) -> ServerConfig:
    more = {"startTimeout": 60, "cwd": str(place.folder)}
    return read_server("own", {**more, **told}, "here", str(place.folder))


def started(place: Place, server: ServerConfig) -> None:
    client = place.client(server)
    try:
        client.connect().result(60)
    finally:
        place.clients.remove(client)
        client.close()


@pytest.fixture
def script(place: Place) -> Path:
    """A server of the folder: a copy of the small one."""
    return write(place.folder / "server.py", FAKE.read_text())


WORDS = json.dumps({"folder": "."})


@pytest.mark.parametrize("how", ["word", "path", "module", "shell", "program", "link"])
def test_a_script_that_changed_is_not_started_before_it_is_approved(place: Place, script: Path, how: str) -> None:
    wrapper = write(place.folder / "bin" / "serve", f'#!/bin/sh\nexec {sys.executable} server.py "$@"\n', 0o755)
    (place.folder / "link").symlink_to("bin/serve")
    server = own_server(
        place,
        **{
            "word": {"command": sys.executable, "args": ["server.py", WORDS]},
            "path": {"command": sys.executable, "args": ["-u", str(script), WORDS]},
            "module": {"command": sys.executable, "args": ["-m", "server", WORDS]},
            "shell": {"command": "sh", "args": ["-c", f"exec {sys.executable} server.py '{WORDS}'"]},
            "program": {"command": "./bin/serve", "args": [WORDS]},
            "link": {"command": "./link", "args": [WORDS]},
        }[how],
    )
    started(place, server)
    started(place, server)
    changed = wrapper if how in ("program", "link") else script
    changed.write_text(changed.read_text() + "\n# changed\n")
    starts = (place.folder / "starts").stat().st_size
    for _ in range(2):
        with pytest.raises(ServerFailed, match="differ from the approved ones"):
            started(place, server)
    assert (place.folder / "starts").stat().st_size == starts
    entry = place.catalog.entry(server)
    assert any(changed.name in path or "link" in path for path in entry.changed_files)
    place.catalog.approve(server, entry)
    started(place, server)
    assert place.catalog.entry(server).changed_files == {}


def test_what_changed_again_after_it_was_shown_is_not_approved(place: Place, script: Path) -> None:
    server = own_server(place, command=sys.executable, args=["server.py", WORDS])
    started(place, server)
    script.write_text(FAKE.read_text() + "# one\n")
    with pytest.raises(ServerFailed):
        started(place, server)
    shown = place.catalog.entry(server)
    script.write_text(FAKE.read_text() + "# two\n")
    with pytest.raises(ServerFailed):
        started(place, server)
    assert place.catalog.approve(server, shown).waits
    with pytest.raises(ServerFailed):
        started(place, server)


def test_a_script_that_is_as_it_was_again_is_started(place: Place, script: Path) -> None:
    server = own_server(place, command=sys.executable, args=["server.py", WORDS])
    started(place, server)
    script.write_text("raise SystemExit(1)\n")
    with pytest.raises(ServerFailed, match="approved ones"):
        started(place, server)
    script.write_text(FAKE.read_text())
    started(place, server)
    assert not place.catalog.entry(server).waits


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["node", "x.js"], {"x.js"}),
        (["node", "--import=./hook.mjs", "x.js"], {"x.js", "hook.mjs"}),
        (["python3", "plain"], {"plain"}),
        (["./bin/server"], {"bin/server"}),
        (["bin/server", "data.db"], {"bin/server"}),
        (["npx", "-y", "tracker@1.2"], {"node_modules/.bin/tracker", ".npmrc"}),
        (["uv", "--directory", "sub", "run", "main.py"], {"sub/main.py", "sub/pyproject.toml"}),
        (["bash", "-lc", "cd sub && exec ./tool --x"], {"sub/tool"}),
        (["deno", "run", "-A", "x.ts"], {"x.ts"}),
        (["node", "."], {"package.json"}),
        (["python", "-m", "pack"], {"pack/__init__.py", "pack/__main__.py"}),
        (["sh", "x.js", "data.db"], {"x.js"}),
        (["env", "A=b", "python3", "server.py"], {"server.py"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_files_that_a_command_names(tmp_path: Path, argv: list[str], named: set[str]) -> None:
    for name in ("x.js", "hook.mjs", "plain", "sub/main.py", "sub/pyproject.toml", "x.ts", "package.json", "server.py"):
        write(tmp_path / name, "text")
    for name in ("pack/__init__.py", "pack/__main__.py", ".npmrc", "data.db"):
        write(tmp_path / name, "text")
    for name in ("bin/server", "sub/tool", "tool", "node_modules/.bin/tracker"):
        write(tmp_path / name, "#!/bin/sh\n", 0o755)
    found = started_files(argv, str(tmp_path), {"PATH": os.environ["PATH"]})
    here = {os.path.relpath(path, tmp_path) for path in found if Path(path).is_relative_to(tmp_path)}
    assert named <= here
    assert "data.db" not in here


def test_without_a_directory_of_its_own_relative_words_name_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "server.py", "text")
    found = started_files(["python3", "server.py"], "", {"PATH": os.environ["PATH"]})
    assert not any(Path(path).is_relative_to(tmp_path) for path in found)


def test_the_environment_of_a_server_holds_no_key_that_it_was_not_given() -> None:
    env = {
        "PATH": ".:/usr/bin",
        "HOME": "/home/x",
        "HTTPS_PROXY": "http://user:hunter22@proxy.example:3128",
        "PIP_INDEX_URL": "https://me:s3cret-word@pypi.example/index",
        "UV_INDEX_CORP_PASSWORD": "s3cret-word",
        "UV_PUBLISH_TOKEN": "pypi-aaaaaaaaaaaaaaaaaaaa",
        "NPM_CONFIG__AUTH": "bWU6czNjcmV0",
        "NPM_CONFIG__AUTHTOKEN": "npm_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "NPM_CONFIG_REGISTRY": "https://npm.example/",
        "XDG_SESSION_ID": "3",
        "VOLTA_SETTING": "sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "OPENAI_API_KEY": "sk-1234567890",
        "GIVEN": "x",
    }
    server = read_server("a", {"command": "x", "env": {"MY_TOKEN": "${GIVEN}"}}, "here", ".")
    made = server_environment(server, env)
    assert made == {
        "PATH": "/usr/bin",
        "HOME": "/home/x",
        "HTTPS_PROXY": "http://user:hunter22@proxy.example:3128",  # a proxy is of no use without its login
        "NPM_CONFIG_REGISTRY": "https://npm.example/",
        "XDG_SESSION_ID": "3",
        "TERM": "dumb",
        "MY_TOKEN": "x",
    }
