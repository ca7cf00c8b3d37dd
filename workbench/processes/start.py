"""The one way in which the workbench starts a process; a contract test keeps every other module from starting one.

A folder that is only looked at must not run anything. So a child starts in the root directory unless it is told
another one, a Python of ours is isolated from the directory and from `PYTHON*` variables, and programs are never taken
from a relative entry of PATH nor from a workspace.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.secrets.names import child_environment

TYPE_CHECKING = False
if TYPE_CHECKING:  # both cost time that the first frame does not have
    import asyncio
    import subprocess
    from typing import Any

ROOT = str(Path(__file__).parents[2])
"""The directory that holds our package."""
_workspaces: set[str] = set()
_RUN = "import runpy, sys; sys.path += [each for each in {more!r} if each not in sys.path]; del sys.argv[0]; "
_RUN += "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"


def keep_out_of(workspace: Path | str) -> None:
    """Never take a program of ours (git, rg, bash, the editor) from this directory, wherever PATH has it.

    Nor from the repositories around it: who works in a part of a clone trusts the whole of it no more. The home
    directory and those above it stay: the user's own programs are there.
    """
    folder = os.path.realpath(workspace)
    home = str(Path.home())
    _workspaces.update(each for each in (folder, *_repositories_around(folder)) if not _is_below(home, each))


def _repositories_around(path: str) -> list[str]:
    """The directories above this one that hold a `.git`."""
    return [str(each) for each in Path(path).parents if os.path.lexists(each / ".git")]


def isolated_python(module: str, *words: str) -> list[str]:
    """The command that runs a module of ours as a program: neither its directory nor `PYTHON*` decide what it imports.

    It finds the packages that this process finds, also where they were installed for one user.
    """
    elsewhere = [*(os.path.realpath(each) for each in (sys.prefix, sys.base_prefix)), *_workspaces]
    more = [each for each in sys.path if _is_extra(each) and not any(_is_below(each, one) for one in elsewhere)]
    return [sys.executable, "-I", *_flags(), "-c", _RUN.format(more=[*more, ROOT]), module, *words]


def _is_extra(entry: str) -> bool:
    return os.path.isabs(entry) and entry != ROOT and os.path.realpath(entry) != os.path.realpath(os.curdir)  # noqa: PTH117


def small_python(module: str, *words: str, bare: bool = True) -> list[str]:
    """The command that runs the `main` of a small module of ours; `bare`, without site-packages, it starts sooner."""
    run = f"import sys; sys.path.append({ROOT!r}); from {module} import main; main()"
    return [sys.executable, "-I", *(["-S"] if bare else ["-u"]), "-c", run, *words]


def _flags() -> list[str]:
    """What this Python was told by variables that `-I` ignores: to write no bytecode, to take all text for UTF-8."""
    return [*(["-B"] if sys.dont_write_bytecode else []), *(["-X", "utf8"] if sys.flags.utf8_mode else [])]


def clean_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The variables without those that change a Python, and with a PATH that holds nothing of a workspace."""
    kept = {name: value for name, value in env.items() if not name.startswith("PYTHON")}
    return {**kept, "PATH": safe_path(env.get("PATH", os.defpath))} if "PATH" in env else kept


def python_variables(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that `clean_environment` leaves out: they belong to the user's own programs."""
    return {name: value for name, value in env.items() if name.startswith("PYTHON")}


def absolute_path(path: str) -> str:
    """A PATH without its relative entries: those mean another directory after each `cd`."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))  # noqa: PTH117 - per start


def safe_path(path: str, *besides: Path | str) -> str:
    """A PATH without relative entries and without those that lie in a workspace or in `besides`."""
    home = str(Path.home())
    avoided = [*_workspaces, *(real for each in besides if not _is_below(home, real := os.path.realpath(each)))]
    entries = absolute_path(path).split(os.pathsep)
    return os.pathsep.join(each for each in entries if each and not any(_is_below(each, one) for one in avoided))


def find_program(name: str, env: Mapping[str, str] | None = None, *besides: Path | str) -> str | None:
    """The program of that name on the safe PATH of `env` (ours); a name with a slash must be an absolute path."""
    if os.sep in name:
        return shutil.which(name) if Path(name).is_absolute() else None
    path = (os.environ if env is None else env).get("PATH", os.defpath)
    return shutil.which(name, path=safe_path(path, *besides) or os.devnull)


def start(
    command: Sequence[str],
    *,
    cwd: Path | str = "/",
    env: Mapping[str, str] | None = None,
    is_users: bool = False,
    **more: Any,
) -> subprocess.Popen[bytes]:
    """Start a program; `more` is as `subprocess.Popen` takes it. Raises OSError.

    `is_users` says that it is a program of the user's, or a small one of ours that runs one of them below it: it gets
    the environment as it is.
    """
    import subprocess

    return subprocess.Popen(_found(command), cwd=cwd, env=_environment(env, is_users=is_users), **more)


def run(
    command: Sequence[str],
    *,
    cwd: Path | str = "/",
    env: Mapping[str, str] | None = None,
    is_users: bool = False,
    **more: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run a program to its end; `more` is as `subprocess.run` takes it. Raises OSError and TimeoutError."""
    import subprocess

    environment = _environment(env, is_users=is_users)
    try:
        return subprocess.run(_found(command), cwd=cwd, env=environment, check=False, **more)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"it took longer than {more['timeout']:g} s") from error


async def start_beside(
    command: Sequence[str],
    *,
    cwd: Path | str = "/",
    env: Mapping[str, str] | None = None,
    is_users: bool = False,
    **more: Any,
) -> asyncio.subprocess.Process:
    """`start` for a program that an event loop talks to."""
    import asyncio

    environment = _environment(env, is_users=is_users)
    return await asyncio.create_subprocess_exec(*_found(command), cwd=cwd, env=environment, **more)


def open_in_browser(address: str) -> bool:
    """Have the user's browser show an address; false where there is none."""
    show = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
    return run([sys.executable, "-I", "-c", show, address]).returncode == 0


def _environment(env: Mapping[str, str] | None, *, is_users: bool) -> dict[str, str]:
    """The environment as it is given, or ours without secrets."""
    given = child_environment() if env is None else env
    return dict(given) if is_users else clean_environment(given)


def _found(command: Sequence[str]) -> list[str]:
    """The command with the whole path of its program; raises FileNotFoundError."""
    program = find_program(command[0])
    if program is None:
        raise FileNotFoundError(2, "no such program in the PATH", command[0])
    return [program, *command[1:]]


def _is_below(path: str, folder: str) -> bool:
    real = os.path.realpath(path)
    return real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)
