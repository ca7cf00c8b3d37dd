"""The command of a server is pinned, and its environment holds only the keys that the settings list."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.mcp.conftest import FAKE, Place, ask
from tests.sandbox import wait_for
from workbench.mcp.config import ServerConfig, read_server, server_environment
from workbench.mcp.errors import ServerFailed
from workbench.mcp.images import unpinned_images
from workbench.mcp.packages import local_packages, unpinned, unpinned_notice
from workbench.mcp.pins import changed_lines
from workbench.mcp.stdio import MOST_FILES, OTHERS, started_files


def write(path: Path, text: str, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def own_server(place: Place, **settings: Any) -> ServerConfig:
    more = {"startTimeout": 60, "cwd": str(place.directory)}
    return read_server("own", {**more, **settings}, "here", str(place.directory))


def started(place: Place, server: ServerConfig) -> None:
    client = place.client(server)
    try:
        client.connect().result(60)
    finally:
        place.clients.remove(client)
        client.close()


@pytest.fixture
def script(place: Place) -> Path:
    """Return a server in the directory: a copy of the small one."""
    return write(place.directory / "server.py", FAKE.read_text())


WORDS = json.dumps({"folder": "."})


@pytest.mark.parametrize("how", ["word", "path", "module", "shell", "program", "link"])
def test_changed_script_is_not_started_before_approval(place: Place, script: Path, how: str) -> None:
    wrapper = write(place.directory / "bin" / "serve", f'#!/bin/sh\nexec {sys.executable} server.py "$@"\n', 0o755)
    (place.directory / "link").symlink_to("bin/serve")
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
    starts = (place.directory / "starts").stat().st_size
    for _ in range(2):
        with pytest.raises(ServerFailed, match="differ from the approved ones"):
            started(place, server)
    assert (place.directory / "starts").stat().st_size == starts
    entry = place.pins.entry(server)
    assert any(changed.name in path or "link" in path for path in entry.changed_files)
    place.pins.approve(server, entry)
    started(place, server)
    assert place.pins.entry(server).changed_files == {}


@pytest.mark.parametrize("ending", ["killed", "ends in a call"])
def test_script_changed_during_a_session_is_not_restarted(place: Place, script: Path, ending: str) -> None:
    server = own_server(place, command=sys.executable, args=["server.py", WORDS])
    tool = place.tool(server=server)
    pid = int(ask(tool, "pid").text)
    script.write_text(FAKE.read_text() + "\n(Path(__file__).parent / 'owned').touch()\n")
    if ending == "killed":
        psutil.Process(pid).kill()
    else:
        assert ask(tool, "die").is_error
    wait_for(lambda: not place.clients[0].is_running, "the end of the server to be noticed")
    for _ in range(2):
        observation = ask(tool, "hello")
        assert observation.is_error
        assert "differ from the approved ones" in observation.text
    assert not (place.directory / "owned").exists()
    place.pins.approve(server, place.pins.entry(server))
    assert ask(tool, "hello").text == "echo: hello"


def test_change_made_after_the_review_is_not_approved(place: Place, script: Path) -> None:
    server = own_server(place, command=sys.executable, args=["server.py", WORDS])
    started(place, server)
    script.write_text(FAKE.read_text() + "# one\n")
    with pytest.raises(ServerFailed):
        started(place, server)
    entry = place.pins.entry(server)
    script.write_text(FAKE.read_text() + "# two\n")
    with pytest.raises(ServerFailed):
        started(place, server)
    assert place.pins.approve(server, entry).waits
    with pytest.raises(ServerFailed):
        started(place, server)


def test_script_with_its_approved_content_again_is_started(place: Place, script: Path) -> None:
    server = own_server(place, command=sys.executable, args=["server.py", WORDS])
    started(place, server)
    script.write_text("raise SystemExit(1)\n")
    with pytest.raises(ServerFailed, match="approved ones"):
        started(place, server)
    script.write_text(FAKE.read_text())
    started(place, server)
    assert not place.pins.entry(server).waits


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
def test_files_named_by_the_command_are_pinned(tmp_path: Path, argv: list[str], named: set[str]) -> None:
    for name in ("x.js", "hook.mjs", "plain", "sub/main.py", "sub/pyproject.toml", "x.ts", "package.json", "server.py"):
        write(tmp_path / name, "text")
    for name in ("pack/__init__.py", "pack/__main__.py", ".npmrc", "data.db"):
        write(tmp_path / name, "text")
    for name in ("bin/server", "sub/tool", "tool", "node_modules/.bin/tracker"):
        write(tmp_path / name, "#!/bin/sh\n", 0o755)
    started = started_files(argv, str(tmp_path), {"PATH": os.environ["PATH"]})
    here = {os.path.relpath(path, tmp_path) for path in started if Path(path).is_relative_to(tmp_path)}
    assert named <= here
    assert "data.db" not in here


def test_relative_words_name_nothing_without_a_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "server.py", "text")
    started = started_files(["python3", "server.py"], "", {"PATH": os.environ["PATH"]})
    assert not any(Path(path).is_relative_to(tmp_path) for path in started)


def test_servers_environment_contains_no_key_that_was_not_configured() -> None:
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


STARTS: list[tuple[list[str], dict[str, str], dict[str, str], str]] = [
    (["node", "."], {}, {"package.json": '{"main": "dist/server.js"}', "dist/server.js": "1"}, "dist/server.js"),
    (["node", "server"], {}, {"server.js": "1"}, "server.js"),
    (["node", "-r", "./hook", "x.js"], {}, {"x.js": "1", "hook.js": "1"}, "hook.js"),
    (["node", "x.js"], {"NODE_OPTIONS": "--require ./y.js"}, {"x.js": "1", "y.js": "1"}, "y.js"),
    (["node", "x.js"], {"NODE_PATH": "./mods"}, {"x.js": "require('m')", "mods/m.js": "1"}, "mods/m.js"),
    (["npm", "start"], {}, {"package.json": '{"scripts": {"start": "node s.js"}}', "s.js": "1"}, "package.json"),
    (["npm", "run", "mcp"], {}, {"package.json": '{"scripts": {"mcp": "node s.js"}}', "s.js": "1"}, "s.js"),
    (["npx", "-y", "./pkg"], {}, {"pkg/package.json": '{"bin": "cli.js"}', "pkg/cli.js": "1"}, "pkg/cli.js"),
    (["make", "serve"], {}, {"Makefile": "serve:\n\t./x\n"}, "Makefile"),
    (["just", "serve"], {}, {"justfile": "serve:\n ./x\n"}, "justfile"),
    (["docker", "compose", "run", "mcp"], {}, {"docker-compose.yml": "services: {}"}, "docker-compose.yml"),
    (["go", "run", "./cmd"], {}, {"cmd/main.go": "package main"}, "cmd/main.go"),
    (["cargo", "run"], {}, {"Cargo.toml": "[package]"}, "Cargo.toml"),
    (["uv", "run", "server"], {}, {"pyproject.toml": "[project]"}, "pyproject.toml"),
    (["deno", "task", "mcp"], {}, {"deno.json": "{}"}, "deno.json"),
    (["python", "-mserver"], {}, {"server.py": "1"}, "server.py"),
    (["python", "-m", "pack.sub"], {}, {"pack/__init__.py": "", "pack/sub.py": "1"}, "pack/__init__.py"),
    (["python", "-c", "import server"], {}, {"server.py": "1"}, "server.py"),
    (["python", "server.py"], {}, {"server.py": "import helper", "helper.py": "1"}, "helper.py"),
    (["python", "x.py"], {"PYTHONPATH": "lib"}, {"x.py": "1", "lib/sitecustomize.py": "1"}, "lib/sitecustomize.py"),
    (["bash", "x.sh"], {"BASH_ENV": "./y"}, {"x.sh": "1", "y": "1"}, "y"),
    (["bash", "x.sh"], {"PATH": "HERE/bin:/usr/bin"}, {"x.sh": "tool", "bin/tool": "#!/bin/sh\n"}, "bin/tool"),
    (["ls"], {"LD_PRELOAD": "./y.so"}, {"y.so": "1"}, "y.so"),
    (["java", "-cp", "classes", "Main"], {}, {"classes/Main.class": "1"}, "classes/Main.class"),
    (["ruby", "-r./hook", "x.rb"], {}, {"x.rb": "1", "hook.rb": "1"}, "hook.rb"),
    (["perl", "x.pl"], {"PERL5OPT": "-I. -Mhook"}, {"x.pl": "1", "hook.pm": "1"}, "hook.pm"),
    (["ruby", "x.rb"], {"RUBYOPT": "-w -r./hook"}, {"x.rb": "1", "hook.rb": "1"}, "hook.rb"),
    (["Rscript", "x.R"], {}, {"x.R": "1", ".Rprofile": "1"}, ".Rprofile"),
    (["python", "x.py"], {"PYTHONBREAKPOINT": "hook.f"}, {"x.py": "1", "hook.py": "1"}, "hook.py"),
    (["python", "x.py"], {"PYTHONWARNINGS": "error::hook.W"}, {"x.py": "1", "hook.py": "1"}, "hook.py"),
    (["python", "x.py"], {"PYTHONHOME": "./home"}, {"x.py": "1", "home/lib/os.py": "1"}, "home/lib/os.py"),
    (["./run"], {}, {"run": "#!./interp\n", "interp": "#!/bin/sh\n"}, "interp"),
    (["./run"], {}, {"run": "#!/usr/bin/env -S python x.py\n", "x.py": "1"}, "x.py"),
    (["./run"], {}, {"run": "exec lib/run\n", "lib/run": "1"}, "lib/run"),
    (["npx", "tsx", "src/x.ts"], {}, {"src/x.ts": "import {a} from './lib/y'", "src/lib/y.ts": "1"}, "src/lib/y.ts"),
    (["uv", "--directory", "sub", "run", "srv"], {}, {"sub/srv/__init__.py": "1"}, "sub/srv/__init__.py"),
    (["uv", "run", "x.py"], {}, {"x.py": "import lib.y", "lib/y.py": "import lib.z", "lib/z.py": "1"}, "lib/z.py"),
    (["go", "run", "./cmd/x.go"], {}, {"cmd/x.go": "1"}, "cmd/x.go"),
]


@pytest.mark.parametrize(("argv", "variables", "files", "changed"), STARTS, ids=lambda value: str(value)[:40])
def test_everything_that_a_start_runs_is_pinned(
    tmp_path: Path, argv: list[str], variables: dict[str, str], files: dict[str, str], changed: str
) -> None:
    for name, text in files.items():
        write(tmp_path / name, text, 0o755)
    variables = {name: value.replace("HERE", str(tmp_path)) for name, value in variables.items()}
    env = {"PATH": os.environ["PATH"], **variables}
    before = started_files(argv, str(tmp_path), env, variables)
    write(tmp_path / changed, f"{files[changed]}\n# changed\n", 0o755)
    assert started_files(argv, str(tmp_path), env, variables) != before


PACKAGES = [
    *(
        "uvx --from ./pkg tool",
        "uvx --from=./pkg tool",
        "uvx ./pkg",
        "uvx --with ./pkg tool",
        "uvx --with a,./pkg tool",
    ),
    *("uv tool run --from ./pkg tool", "uv run --with ./pkg tool", "uv run --with-editable pkg tool"),
    *("uv run --project ./pkg tool", "uv --directory pkg run tool", "uvx --from file://HERE/pkg tool"),
    *("uvx --from 'tool @ ./pkg' tool", "uvx --from 'tool[x] @ file://HERE/pkg' tool", "uvx --from './pkg[cli]' tool"),
    *("uvx --from git+file://HERE/pkg tool", "uvx --directory pkg --from . tool", "env A=1 uvx --from ./pkg tool"),
    *("pipx run --spec ./pkg tool", "pipx run --spec=./pkg tool", "npx --package ./pkg tool", "npx -y -p ./pkg tool"),
    *("npx --package=file:./pkg tool", "npx ./pkg", "npm exec --package=./pkg -- tool", "npm --prefix ./pkg start"),
    *("bunx ./pkg", "bunx --package ./pkg tool", "bun x ./pkg", "bun run ./pkg", "deno run -A ./pkg"),
    *(
        "pnpm dlx ./pkg",
        "pnpm --package=./pkg dlx tool",
        "yarn dlx -p ./pkg tool",
        "sh -c 'exec uvx --from ./pkg tool'",
    ),
    *("poetry -C pkg run tool", "hatch run --path pkg tool", "cargo run --manifest-path pkg/Cargo.toml"),
]


@pytest.mark.parametrize("line", PACKAGES)
def test_code_of_a_local_package_is_pinned(tmp_path: Path, line: str) -> None:
    parts = ("pyproject.toml", "package.json", "Cargo.toml", "src/tool/deep/main.py", "lib/deep/part.js", "src/main.rs")
    for name in parts:
        write(tmp_path / "pkg" / name, "{}")
    argv, env = shlex.split(line.replace("HERE", str(tmp_path))), {"PATH": os.environ["PATH"]}
    for name in parts:
        before = started_files(argv, str(tmp_path), env)
        write(tmp_path / "pkg" / name, f"{{}}\n# {name}\n")
        assert started_files(argv, str(tmp_path), env) != before, name
    before = started_files(argv, str(tmp_path), env)
    write(tmp_path / "pkg/src/tool/new.py", "new")
    assert started_files(argv, str(tmp_path), env) != before, "a new module"
    elsewhere = write(tmp_path / "elsewhere/part.py", "1")
    before = started_files(argv, str(tmp_path), env)
    (tmp_path / "pkg/src/tool/linked").symlink_to(elsewhere.parent)
    assert started_files(argv, str(tmp_path), env) != before, "a link to a directory"


COMMANDS = {
    "uvx -w./pkg tool": "pkg/src/a.py",
    "uvx -qw./pkg tool": "pkg/src/a.py",
    "uvx --with-requirements LIST tool": "LIST pkg/src/a.py other.txt dep/setup.py idx/tool-1.tar.gz",
    "uvx --overrides=LIST tool": "LIST pkg/src/a.py",
    "uvx -cLIST tool": "LIST",
    "uvx -b LIST tool": "LIST",
    "uv run --with-requirements LIST server.py": "LIST pkg/src/a.py server.py",
    "uvx --index file://HERE/idx tool": "idx/tool-1.tar.gz idx/tool/index.html",
    "uvx --index corp=file://HERE/idx tool": "idx/tool-1.tar.gz",
    "uvx --default-index ./idx tool": "idx/tool-1.tar.gz",
    "uvx --extra-index-url=file://HERE/idx tool": "idx/tool-1.tar.gz",
    "uvx -f./idx tool": "idx/tool-1.tar.gz",
    "uvx --unknown x --find-links ./idx tool": "idx/tool-1.tar.gz",
    "uvx --config-file cfg.toml tool": "cfg.toml",
    "uvx --python ./bin/python tool": "bin/python",
    "corepack pnpm run x": "package.json s.js",
    "corepack yarn@4 run x": "package.json s.js",
    "env A=1 corepack npm start": "package.json s.js",
    "corepack pnpm dlx ./pkg": "pkg/src/a.js",
    "mise exec -- npm run x": "s.js",
    "npx -y pnpm@9 run x": "s.js",
    "pnpm dlx file:./pkg": "pkg/src/a.js",
    "bunx -p ./pkg tool": "pkg/src/a.js",
    "npx -p./pkg tool": "pkg/src/a.js",
    "npx --userconfig=npmrc tool": "npmrc",
    "npx ./t.tgz": "t.tgz",
    "deno run --import-map map.json https://x/y.ts": "map.json",
    "deno run -c cfg.toml server.ts": "cfg.toml server.ts",
    "deno run -A file://HERE/server.ts": "server.ts",
    "pipx run --pip-args='-r LIST' tool": "LIST pkg/src/a.py",
    "pipx run --pip-args '--find-links ./idx' tool": "idx/tool-1.tar.gz",
    "pipx run --spec t.tgz tool": "t.tgz",
    "bun --preload ./s.js server.ts": "s.js server.ts",
    "sh -c 'uvx -w./pkg tool'": "pkg/src/a.py",
    "UV_FIND_LINKS=HERE/idx uvx tool": "idx/tool-1.tar.gz",
    "UV_INDEX_URL=file://HERE/idx uvx tool": "idx/tool-1.tar.gz",
    "UV_OVERRIDE=LIST uvx tool": "LIST pkg/src/a.py",
    "PIP_CONSTRAINT='LIST other.txt' pipx run tool": "LIST other.txt",
    "NPM_CONFIG_USERCONFIG=./npmrc npx tool": "npmrc",
    "npm_config_prefix=./pkg npm start": "pkg/src/a.js",
    "UV_PROJECT=./pkg uv run tool": "pkg/src/a.py",
}
_SCRIPTS = '{"scripts": {"x": "node s.js", "start": "node s.js"}}'


@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("line", COMMANDS)
def test_local_code_that_a_launcher_runs_is_pinned(tmp_path: Path, line: str, is_elsewhere: bool) -> None:
    here = tmp_path / "here"
    for name in (
        "pkg/src/a.py",
        "pkg/src/a.js",
        "dep/setup.py",
        "idx/tool-1.tar.gz",
        "idx/tool/index.html",
        "bin/python",
    ):
        write(here / name, "1")
    for name in ("cfg.toml", "map.json", "npmrc", "s.js", "server.py", "server.ts", "t.tgz"):
        write(here / name, "1")
    write(here / "package.json", _SCRIPTS)
    write(here / "LIST", "a==1\n./pkg  # ours\n-rother.txt\n--find-links ./idx\n")
    write(here / "other.txt", f"dep @ file://{here}/dep\n")
    changed = COMMANDS[line].split()
    if is_elsewhere:
        line = re.sub(r"\./(?=\w)|(?<![\w/])(?=LIST|cfg|map|npmrc|t\.tgz|server\.|other)", f"{here}/", line)
        changed = [] if str(here) not in line and "HERE" not in line else changed
    argv, variables = shlex.split(line.replace("HERE", str(here))), dict[str, str]()
    while "=" in argv[0]:
        name, _, variables[name] = argv.pop(0).partition("=")
    directory = tmp_path / "elsewhere" if is_elsewhere else here
    directory.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], **variables}
    for name in changed:
        before = started_files(argv, str(directory), env, variables)
        write(here / name, f"{(here / name).read_text()}\n# changed\n")
        assert started_files(argv, str(directory), env, variables) != before, name


@pytest.mark.parametrize(
    "line",
    [
        "uvx -q tool -i data --find-links data",
        "npx -y tool ./data",
        "pipx run server -i data -b list.txt",
        "uv run server data",
    ],
)
def test_arguments_of_the_server_are_not_taken_for_packages(tmp_path: Path, line: str) -> None:
    write(tmp_path / "data/x.txt", "1")
    write(tmp_path / "list.txt", "1")
    assert list(local_packages(shlex.split(line), str(tmp_path), {})) == []


UNPINNED = {
    "uvx mcp-server-time": "mcp-server-time",
    "uvx server@latest": "server@latest",
    "uvx --from 'server>=1.2' tool": "server>=1.2",
    "npx create": "create",
    "uvx --from git+https://github.com/x/y z": "git+https://github.com/x/y",
    "uvx -w other==1 --with more server@1.0": "more",
    "uv tool run server": "server",
    "uvx --python 3.12 server": "server",
    "npx -y @scope/server": "@scope/server",
    "npx -y server@^1.2.3": "server@^1.2.3",
    "npx -p a@1.0.0 -p b x": "b",
    "npm exec --package=a -- x": "a",
    "pnpm dlx a": "a",
    "corepack pnpm dlx a@next": "a@next",
    "yarn dlx a@2": "a@2",
    "bunx a": "a",
    "bun x a": "a",
    "npx github:user/repository": "github:user/repository",
    "npx -y https://x.example/a.tgz": "https://x.example/a.tgz",
    "deno run -A https://x.example/mod.ts": "https://x.example/mod.ts",
    "deno run npm:a": "npm:a",
    "pipx run a": "a",
    "pipx run --spec git+https://x.example/a a": "git+https://x.example/a",
    "go run example.com/x@latest": "example.com/x@latest",
    "uv run --with mcp server.py": "mcp",
    "uv run https://x.example/server.py": "https://x.example/server.py",
    "uvx --with-requirements https://x.example/list.txt server@1.0": "https://x.example/list.txt",
    "deno run --import-map=https://x.example/map.json npm:a@1.2.3": "https://x.example/map.json",
    "sh -c 'npx -y a'": "a",
}
PINNED = """
uvx server@1.2.3
uvx --from server==1.2 tool
uvx --from git+https://github.com/x/y@0123456789abcdef0123456789abcdef01234567 tool
uvx --from ./pkg tool
uv run server.py
uv --directory srv run server
npx -y @scope/server@1.2.3 --port 3
npx ./pkg
npm start
pnpm run x
yarn dlx a@2.0.0
bun run server.ts
deno run -A https://deno.land/x/a@v1.2.3/mod.ts
deno run npm:a@1.2.3
deno run server.ts
pipx run --spec a==1.0 a
pipx run ./a
go run example.com/x@v1.2.3
go run .
python server.py
""".strip().splitlines()


@pytest.mark.parametrize("line", UNPINNED)
def test_packages_downloaded_without_a_version_are_named(line: str) -> None:
    assert unpinned(shlex.split(line)) == (UNPINNED[line],)


@pytest.mark.parametrize("line", PINNED)
def test_local_packages_and_those_with_a_version_are_not_named(line: str) -> None:
    assert unpinned(shlex.split(line)) == ()


DIGEST = "sha256:" + "0123456789abcdef" * 4
IMAGES = {
    "docker run mcp/time": "mcp/time",
    "docker run -i --rm mcp/time:latest": "mcp/time:latest",
    "docker run -i --rm mcp/time:1.2.3": "mcp/time:1.2.3",
    "/usr/bin/docker run -i a": "a",
    "docker container run -it a sh -c b": "a",
    "docker --context other run --rm a": "a",
    "docker -H unix:///x.sock --debug run a": "a",
    "docker create --name server a": "a",
    "docker run --name=server -e KEY -eA=b --env C -v /x:/y -p8080:80 --network host a --flag": "a",
    "docker run -ite KEY ghcr.io/github/github-mcp-server": "ghcr.io/github/github-mcp-server",
    "docker run --mount type=bind,src=/x,dst=/y --pull always -- a": "a",
    "docker run --init --privileged --read-only --label 'a b' registry.example:5000/a:2": "registry.example:5000/a:2",
    "podman run --replace --rmi --tls-verify=false -i quay.io/a": "quay.io/a",
    "podman run docker://a:1": "docker://a:1",
    "nerdctl --namespace x run --rm a": "a",
    "finch run -i a": "a",
    "container run --ssh -i a": "a",
    "sudo docker run -i a": "a",
    "env A=b docker run -i a": "a",
    "flatpak-spawn --host podman run -i a": "a",
    "sh -c 'docker run -i a'": "a",
    "sh -c 'cd x; exec docker run -i a; true'": "a",
    "bash -lc 'A=b docker run -i --name=\"x y\" a'": "a",
    "ssh host --command='podman run a'": "a",
    "docker run -i a:$TAG": "a:$TAG",
    "docker run -i a@sha256:0123": "a@sha256:0123",
    f"docker run -i a@{DIGEST}0": f"a@{DIGEST}0",
    "apptainer run --cleanenv docker://a:1": "docker://a:1",
    "singularity exec --bind /x library://a/b c": "library://a/b",
    "ctr -n x run --rm docker.io/library/a:1 id": "docker.io/library/a:1",
    "kubectl run server -i --rm --image=a": "a",
    "kubectl debug node/x --image a -it": "a",
}
FIXED_IMAGES = f"""
docker run -i a@{DIGEST}
docker run -i registry.example:5000/a:1.2@{DIGEST}
podman run --rm quay.io/a@{DIGEST} serve
docker run -i {DIGEST}
docker exec -i server sh
docker ps
docker compose run server
docker build -t a .
docker mcp gateway run
podman run --rootfs ./tree sh
podman run oci-archive:a.tar
apptainer run ./a.sif
apptainer exec a.sif id
kubectl run server --image=a@{DIGEST}
kubectl get pods
sh -c 'docker run -i a@{DIGEST}'
docker
docker run
npx docker-server@1.0.0
""".strip().splitlines()


@pytest.mark.parametrize("line", IMAGES)
def test_container_images_without_a_digest_are_named(line: str) -> None:
    assert unpinned_images(shlex.split(line)) == (IMAGES[line],)


@pytest.mark.parametrize("line", FIXED_IMAGES)
def test_local_images_and_those_with_a_digest_are_not_named(line: str) -> None:
    assert unpinned_images(shlex.split(line)) == ()


def test_notice_names_packages_and_images() -> None:
    server = read_server("own", {"command": "sh", "args": ["-c", "npx -y a && docker run -i b:1 c"]}, "here", "/")
    assert unpinned_notice(server) == (
        "not pinned: a is downloaded without a version; b:1 is run without a digest, so the code may differ"
    )


def test_files_beyond_the_limit_are_compared_together(tmp_path: Path) -> None:
    for number in range(MOST_FILES + 50):
        write(tmp_path / f"pkg/src/part{number:03}.py", "1")
    argv, env = ["uvx", "--from", "./pkg", "tool"], {"PATH": os.environ["PATH"]}
    before = started_files(argv, str(tmp_path), env)
    assert len(before) == MOST_FILES + 1
    write(tmp_path / f"pkg/src/part{MOST_FILES + 40}.py", "2")
    after = started_files(argv, str(tmp_path), env)
    assert {path for path in after if after[path] != before.get(path)} == {OTHERS}


def test_start_with_too_many_files_to_compare_is_approved_each_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.mcp.stdio._MOST_ENTRIES", 20)
    runner = write(place.directory / "bin/uvx", f'#!/bin/sh\nexec {sys.executable} {FAKE} "$3"\n', 0o755)
    for number in range(30):
        write(place.directory / f"pkg/part{number}.py", "1")
    server = own_server(place, command=str(runner), args=["--from", "./pkg", WORDS])
    started(place, server)
    for _ in range(2):
        for _ in range(2):
            with pytest.raises(ServerFailed, match=r"more files than can be compared .* approve this start"):
                started(place, server)
        entry = place.pins.entry(server)
        assert any("more start files than can be compared: may have changed" in line for line in changed_lines(entry))
        place.pins.approve(server, entry)
        started(place, server)


@pytest.mark.parametrize("argv", [["uv", "run", "server"], ["go", "run", "."], ["npm", "start"], ["cargo", "run"]])
def test_sources_of_a_whole_project_are_not_start_files(tmp_path: Path, argv: list[str]) -> None:
    for name in ("pyproject.toml", "go.mod", "package.json", "Cargo.toml", "README.md"):
        write(tmp_path / name, "{}")
    before = started_files(argv, str(tmp_path), {"PATH": os.environ["PATH"]})
    for name in ("src/deep/module.py", "src/deep/part.rs", "internal/x.go", "lib/x.js", "data/x.db", "tests/test_x.py"):
        write(tmp_path / name, "new")
    assert started_files(argv, str(tmp_path), {"PATH": os.environ["PATH"]}) == before


def test_variables_not_set_by_the_configuration_name_no_start_files(tmp_path: Path) -> None:
    write(tmp_path / ".bashrc", "1")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "BASH_ENV": "./.bashrc"}
    assert not {path for path in started_files(["ls"], str(tmp_path), env) if path.startswith(str(tmp_path))}
