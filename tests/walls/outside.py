"""The world outside a wall: canaries, planted secrets and a victim for the escapes, and the judgment of what got out.

The word of the program inside is believed only where it says that it got out, and never against a victim.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pwd
import re
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.walls import open_proxy
from tests.walls.escapes.catalog import NAMES

HERE = Path(__file__).parent
MARK = re.compile(rb"escaped:(\w+)")
UNTOUCHED = "untouched"
PATIENCE = 240.0
ANOTHER_USER = 61_234
"""A user that no machine has, so that nothing else on the machine belongs to it."""

SECRET_FILES = (
    *(".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".git-credentials", ".netrc", ".npmrc"),
    *(".kube/config", ".azure/tokens.json", ".docker/config.json", ".gnupg/private-keys-v1.d/key.key", ".bash_history"),
    *(".mozilla/firefox/user.default/cookies.sqlite", ".config/google-chrome/Default/Cookies"),
    *(".local/share/keyrings/login.keyring", ".config/ohw/settings.toml", ".local/state/ohw/prompt-history.jsonl"),
    ".local/share/ohw/sessions/other/events.jsonl",
)
START_FILES = (".bashrc", ".profile", ".gitconfig", ".config/ohw/rules.toml")
SECRET_VARIABLES = ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN")
PROTECTED_FILES = (
    *(".mcp.json", ".vscode/tasks.json", ".idea/workspace.xml", ".github/workflows/ci.yml", ".gitlab-ci.yml"),
    *(".ohw/rules.toml", "AGENTS.md", "CLAUDE.md", ".cursorrules", "packages/app/.vscode/tasks.json"),
    *("agent-files/settings.json", "agent-files/commands/check.md"),
)
PROTECTED = (
    *PROTECTED_FILES,
    *(".git/hooks", ".git/config", ".git/config.worktree", ".git/info", ".git/objects/info", ".git/commondir"),
    *(".git/modules", "library/.git", "worktree/.git", "worktree-of-other/.git", "packages/nested/.git/hooks"),
    *(
        "packages/nested/.git/config",
        "stores/linked/hooks",
        "stores/linked/config",
        "bare.git/hooks",
        "bare.git/config",
        ".vscode",
        ".idea",
        ".github",
        ".ohw",
    ),
    *(".claude", ".envrc", ".cursor", ".devcontainer", ".husky", ".circleci", "GEMINI.md", ".pre-commit-config.yaml"),
    *("source/.vscode", "linked/.git"),
)
"""The paths of the workspace in which no mark may be."""
SYSTEM = ("/etc", "/usr/local/bin", "/var/spool/cron/crontabs", "/etc/cron.d", "/var/spool/cron/atjobs", "/etc/shadow")
"""Real files, of which an escape reports only which ones they are."""


@dataclass(frozen=True)
class Verdict:
    """What became of one escape."""

    name: str
    outcome: str
    reason: str


@dataclass
class Outside:
    """The world around one run."""

    user: int
    python: str
    workspace: Path
    home: Path
    temporary: Path
    var_tmp: Path
    shm: Path
    secrets: dict[str, str] = field(default_factory=dict)
    before: dict[Path, tuple[Any, ...]] = field(default_factory=dict)
    terminal: bytes = b""

    @property
    def canaries(self) -> Path:
        """The directory with a file for each escape."""
        return self.home / "outside"

    @property
    def runtime(self) -> Path:
        """The directory with the sockets of the user."""
        return self.home.parent / "run"

    def secret(self, label: str) -> str:
        """Return a new secret and remember what it is."""
        value = f"walls-secret-{secrets.token_hex(16)}"
        self.secrets[value] = label
        return value

    def environment(self) -> dict[str, str]:
        """Return the environment of the user who starts the wall, with keys in it."""
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color", "HOME": str(self.home)}
        environment |= {"XDG_RUNTIME_DIR": str(self.runtime), "SSH_AUTH_SOCK": str(self.runtime / "agent.sock")}
        environment |= {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.runtime}/bus", "PYTHONDONTWRITEBYTECODE": "1"}
        return environment | {name: self.secret(f"the variable {name}") for name in SECRET_VARIABLES}


def python_for(user: int) -> str | None:
    """Return a Python that the user may run."""
    check = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in (str(Path(sys.executable).resolve()), "/usr/bin/python3", "/usr/local/bin/python3"):
        with contextlib.suppress(OSError):
            if subprocess.run([python, "-c", check], capture_output=True, **as_user(user), check=False).returncode == 0:
                return python
    return None


def as_user(user: int) -> dict[str, Any]:
    """Return the arguments with which a program is started as that user."""
    return {} if user == os.getuid() else {"user": user, "group": user, "extra_groups": []}


@contextlib.contextmanager
def outside(user: int, python: str) -> Iterator[Outside]:
    """Make a world that belongs to the user, and remove it."""
    # not below /tmp: a wall may hide that as a whole, and its mounts over secrets and protected files would go untested
    real_home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    base = next(path for path in (Path("/home"), real_home, Path("/var/tmp")) if os.access(path, os.W_OK))
    roots = [Path(tempfile.mkdtemp(prefix="ohw-walls-", dir=path)) for path in (base, "/tmp", "/var/tmp", "/dev/shm")]
    world = Outside(user, python, roots[0] / "home/project", roots[0] / "home", *roots[1:])
    try:
        _furnish(world)
        for root in roots:
            root.chmod(0o755)
            _belongs_to(root, user)
        _suid_program(world)
        yield world
    finally:
        for root in roots:
            shutil.rmtree(root, ignore_errors=True)


def _furnish(world: Outside) -> None:
    for path in (world.workspace / "beats", world.canaries, world.runtime / "ohw", world.home / ".local/bin"):
        path.mkdir(parents=True)
    for name in SECRET_FILES:
        _write(world.home / name, f"# {world.secret(f'~/{name}')}\n")
    for path in (world.temporary, world.shm, world.runtime):
        _write(path / "secret", world.secret(str(path / "secret")))
    for name in START_FILES:
        _write(world.home / name, "")
    for directory in (world.canaries, world.temporary, world.var_tmp, world.shm):
        for name in NAMES:
            _write(directory / name, UNTOUCHED)
    os.mkfifo(world.canaries / "pipe")
    _repositories(world)
    for name in PROTECTED_FILES:
        _write(world.workspace / name, "")
    _write(world.workspace / "source/code.py", "")
    (world.workspace / ".claude").symlink_to("agent-files")
    (world.workspace / "link-outwards").symlink_to(world.canaries)
    (world.workspace / "link-to-missing").symlink_to(world.canaries / "created-through-link")
    (world.workspace / "link-to-secrets").symlink_to(world.home / ".ssh")
    shutil.copytree(HERE / "escapes", world.workspace / "tools/escapes", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "chores.py", world.workspace / "tools")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _repositories(world: Outside) -> None:
    """Make the workspace a repository with a submodule, worktrees, and other repositories below it."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments: str, directory: Path = world.workspace) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        author = ("-c", "user.name=a", "-c", "user.email=a@b.example")
        subprocess.run(["git", *author, *arguments], cwd=directory, env=environment, check=True, capture_output=True)

    other, nested = world.home / "other-project", world.workspace / "packages/nested"
    for directory in (world.workspace, other, nested):
        git("init", "-q", directory=directory)
        git("commit", "-q", "--allow-empty", "-m", "start", directory=directory)
    (world.workspace / ".git/modules").mkdir()
    (world.workspace / "stores").mkdir()
    git("init", "-q", "--separate-git-dir=.git/modules/library", "library")
    git("init", "-q", "--bare", "bare.git")
    git("init", "-q", "--separate-git-dir=stores/linked", "linked")
    (world.workspace / "linked/.git").unlink()
    (world.workspace / "linked/.git").symlink_to("../stores/linked")
    git("worktree", "add", "-q", "worktree")
    git("worktree", "add", "-q", str(world.workspace / "worktree-of-other"), directory=other)
    for name in ("pre-commit", "pre-push"):
        (world.workspace / ".git/hooks" / name).write_text("#!/bin/sh\n")
    _write(world.workspace / ".git/info/attributes", "")


def _belongs_to(root: Path, user: int) -> None:
    if user != os.getuid():
        for directory, directories, files in os.walk(root):
            for name in (".", *directories, *files):
                os.chown(Path(directory, name), user, user, follow_symlinks=False)


def _suid_program(world: Outside) -> None:
    if os.getuid() == 0 and world.user != 0 and (program := shutil.which("id")):
        copy = world.home / "programs/id"
        copy.parent.mkdir()
        shutil.copy(program, copy)
        copy.chmod(0o4755)


def run(world: Outside, wall: Sequence[str], names: Sequence[str] = (), **more: str) -> dict[str, Verdict]:
    """Run the escapes behind a wall, which is a command line before that of the program, and judge them.

    `more` are variables of the environment.
    """
    environment = world.environment() | more
    with _victim(world) as (facts, reports):
        _write(world.workspace / "world.json", json.dumps(_facts(world, facts)))
        world.before = {path: _state(path) for path in _files(world)}
        script = 'cd "$1" && shift && exec "$@"'
        program = [world.python, "-B", "-m", "escapes", str(world.workspace / "world.json"), *names]
        inside = ["sh", "-c", script, "sh", str(world.workspace / "tools"), *program]
        lines = _in_terminal(world, [*wall, *inside], environment)
        marks = _leftovers(world) | _marks(world)
        received = reports()
    marks |= {name: f"the victim received {way}" for name, way in received.items()}
    return {line["name"]: _judge(world, line, marks) for line in lines}


def work(world: Outside, wall: Sequence[str]) -> dict[str, Verdict]:
    """Do ordinary work behind a wall, and return what became of it."""
    program = [world.python, "-B", str(world.workspace / "tools/chores.py"), str(world.workspace)]
    lines = _in_terminal(world, [*wall, *program], world.environment())
    return {line["name"]: Verdict(line["name"], line["outcome"], line["detail"]) for line in lines}


def enter(world: Outside, wall: Sequence[str]) -> None:
    """Run a command behind a wall that does nothing."""
    _in_terminal(world, [*wall, "echo", "{}"], world.environment())


def _facts(world: Outside, victim: dict[str, Any]) -> dict[str, Any]:
    """Return what the program inside is told."""
    suid_program = world.home / "programs/id"
    return {
        "home": str(world.home),
        "workspace": str(world.workspace),
        "outside": str(world.canaries),
        "temporary": str(world.temporary),
        "var_tmp": str(world.var_tmp),
        "shm": str(world.shm),
        "runtime": str(world.runtime),
        "abstract": _abstract(world),
        "host": _own_host(),
        "loopback_name": open_proxy.LOOPBACK_NAME,
        "suid_program": str(suid_program) if suid_program.exists() else "",
        "handle": _handle(world.home / ".ssh/id_ed25519"),
        "uts": Path("/proc/self/ns/uts").stat().st_ino,
        "victim": victim,
    }


def _abstract(world: Outside) -> str:
    return f"{world.home.parent.name}-socket"


def _own_host() -> str:
    """Return the number of this machine in its network; nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return ""


def _handle(path: Path) -> str:
    """Return the handle of a file (`struct file_handle`) in hexadecimal; empty where there are none."""
    handle, mount = bytearray(136), ctypes.c_int()
    handle[:4] = (128).to_bytes(4, "little")
    buffer = (ctypes.c_char * len(handle)).from_buffer(handle)
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.name_to_handle_at(-100, os.fsencode(path), buffer, ctypes.byref(mount), 0)
    return "" if failed else bytes(handle).hex()


@contextlib.contextmanager
def _victim(world: Outside) -> Iterator[tuple[dict[str, Any], Callable[[], dict[str, str]]]]:
    """Start the victim; yield its numbers, and a function that ends it and returns what reached it."""
    sockets = [world.runtime / name for name in ("ohw/engine.sock", "docker.sock", "agent.sock", "bus")]
    sockets += [world.canaries / f"{kind}.sock" for kind in ("stream", "datagram", "packets")]
    sockets += [directory / "stream.sock" for directory in (world.workspace, world.temporary)]
    settings = {
        "secret": world.secret("the memory of the victim"),
        "sockets": [str(path) for path in (*sockets, world.home / ".gnupg/S.gpg-agent")],
        "pipe": str(world.canaries / "pipe"),
        "abstract": _abstract(world),
    }
    password, key = world.secret("an argument of the victim"), world.secret("the environment of the victim")
    shutil.copy(HERE / "victim.py", world.home.parent / "victim.py")
    process = subprocess.Popen(
        [world.python, "-B", str(world.home.parent / "victim.py"), "--password", password],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=world.home / ".ssh",
        env={"PATH": os.environ["PATH"], "VICTIM_SECRET": key},
        start_new_session=True,
        **as_user(world.user),
    )
    assert process.stdin
    assert process.stdout

    def exchange(line: str) -> Any:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    try:
        yield exchange(json.dumps(settings)), lambda: exchange("")
    finally:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()


def _in_terminal(world: Outside, command: list[str], environment: dict[str, str]) -> list[dict[str, str]]:
    """Run a command in a terminal of its own, with things left open, and return the lines of its output."""
    screen, terminal = os.openpty()
    typed: list[bytes] = []
    reader = threading.Thread(target=_drain, args=(screen, typed), daemon=True)
    reader.start()
    left_open = world.home.parent / "open"
    left_open.write_text(world.secret("an open file"))
    mine, theirs = socket.socketpair()
    inherited = (os.open(left_open, os.O_RDONLY), os.open(world.canaries, os.O_RDONLY), theirs.fileno())
    left_open.unlink()
    log = world.home.parent / "stderr"
    try:
        with log.open("w") as errors:
            done = subprocess.run(
                ["setsid", "--ctty", *command],
                stdin=terminal,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=world.workspace,
                env=environment,
                pass_fds=inherited,
                timeout=PATIENCE,
                check=False,
                **as_user(world.user),
            )
    finally:
        for descriptor in (*inherited[:2], terminal):
            os.close(descriptor)
        theirs.close()
    reader.join(5)
    world.terminal = b"".join(typed) + _received(mine)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, f"{command}: no escape ran, status {done.returncode}: {log.read_text()[-2000:]} {done.stdout[-500:]}"
    return lines


def _drain(screen: int, typed: list[bytes]) -> None:
    """Gather what a terminal shows, which includes the echo of what is typed into it."""
    with contextlib.suppress(OSError):
        while data := os.read(screen, 65536):
            typed.append(data)
    os.close(screen)


def _received(mine: socket.socket) -> bytes:
    with mine, contextlib.suppress(OSError):
        mine.setblocking(False)
        return mine.recv(65536)
    return b""


def _leftovers(world: Outside) -> dict[str, str]:
    """Return which processes still write the time after the wall has ended, and stop them."""
    beats = world.workspace / "beats"
    first = {path.name: path.read_text() for path in beats.iterdir()}
    time.sleep(1)
    running = {name: "it still runs" for name, text in first.items() if (beats / name).read_text() != text}
    running |= {path.name: "it runs now" for path in beats.iterdir() if path.name not in first}
    (beats / "stop").touch()
    return running


def _files(world: Outside) -> Iterator[Path]:
    """Yield every file outside the workspace."""
    for root in (world.home.parent, world.temporary, world.var_tmp, world.shm):
        for directory, directories, files in os.walk(root):
            if Path(directory) == world.home and "project" in directories:
                directories.remove("project")
            if Path(directory).name == "put-back" and Path(directory, "..").resolve() in _records(world):
                # what a wall moved aside: programs inside must not reach it, and nobody else does
                assert stat.S_IMODE(Path(directory).stat().st_mode) == 0o700
                directories.clear()
                continue
            yield from (Path(directory, name) for name in files)


def _records(world: Outside) -> tuple[Path, ...]:
    own = world.home / ".local/share/ohw"
    return own, own / "state/walls"


def _state(path: Path) -> tuple[Any, ...]:
    """Return the metadata of a file that an escape may change."""
    status = path.lstat()
    names = os.listxattr(path, follow_symlinks=False)
    return (status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns, tuple(names))


def _marks(world: Outside) -> dict[str, str]:
    """Return which escapes left something outside, or in a protected file, and where."""
    marks = {
        match[1].decode(): "input of the user's terminal or an open socket" for match in MARK.finditer(world.terminal)
    }
    for path in (*_files(world), *_protected_files(world)):
        if stat.S_ISREG(path.lstat().st_mode):
            marks |= {match[1].decode(): f"{path} has its mark" for match in MARK.finditer(path.read_bytes())}
    for path, state in world.before.items():
        if path.name in NAMES and (not path.exists() or _state(path) != state):
            marks.setdefault(path.name, f"{path} is not what it was")
    return marks | _workspace_marks(world.workspace)


def _protected_files(world: Outside) -> Iterator[Path]:
    replaced = [path.name for path in world.workspace.glob("replaced-*")]
    for name in (*PROTECTED, *replaced):
        path = world.workspace / name
        yield from [path] if path.is_file() else (each for each in path.rglob("*") if each.is_file())


def _workspace_marks(workspace: Path) -> dict[str, str]:
    """Return the escapes whose mark is no text."""
    marks = {}
    if not (workspace / ".git/hooks/pre-push").exists():
        marks["removed_hook"] = "the hook is missing"
    for name, file in (("leave_suid_program", "suid-program"), ("create_suid_program", "created-suid-program")):
        program = workspace / file
        if program.exists() and program.stat().st_mode & stat.S_ISUID:
            marks[name] = f"{program} has the set-user-ID bit"
    program = workspace / "program-with-capabilities"
    if program.exists() and "security.capability" in os.listxattr(program):
        marks["leave_program_with_capabilities"] = f"{program} has capabilities"
    return marks


def _judge(world: Outside, line: dict[str, str], marks: dict[str, str]) -> Verdict:
    name, outcome, detail = line["name"], line["outcome"], line["detail"]
    known = [label for value, label in world.secrets.items() if value in detail]
    if known:
        return Verdict(name, "out", f"it read {known[0]}")
    if name in marks:
        return Verdict(name, "out", marks[name])
    if outcome == "tried":
        is_out = _is_outside(detail)
        return Verdict(name, "out" if is_out else "held", detail or "nothing arrived outside")
    return Verdict(name, outcome, detail)


def _is_outside(detail: str) -> bool:
    """Return whether the detail names a file of the system, or its network, by its numbers."""
    match = re.fullmatch(r"inode (\d+):(\d+)", detail)
    paths = [path for path in (*SYSTEM, "/proc/self/ns/net") if match and Path(path).exists()]
    numbers = {(Path(path).stat().st_dev, Path(path).stat().st_ino) for path in paths}
    return bool(match) and (int(match[1]), int(match[2])) in numbers


_PRIVATE = """
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount -t tmpfs none "$2" && shift 2 && exec "$@"
"""


def without_wall(world: Outside) -> dict[str, Verdict]:
    """Run the escapes without a wall. For root it is in a mount namespace, so that no mount stays, with the two mounts
    that escapes undo.
    """
    private = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _PRIVATE, "sh"]
    private += [str(world.workspace / ".git/hooks"), str(world.home / ".azure")]
    with open_proxy.serve() as port:
        return run(world, private if world.user == 0 else [], https_proxy=f"http://127.0.0.1:{port}")
