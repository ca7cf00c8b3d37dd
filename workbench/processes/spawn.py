"""Starts every process of the workbench; a contract test stops other modules from starting one.

Merely viewing a directory must not execute anything in it. A child therefore starts in the root directory unless
another one is given, our Python processes are isolated from the current directory and from `PYTHON*` variables, and
programs are never resolved through a relative entry of PATH or inside a workspace.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

from workbench.secrets.secret_names import child_environment

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing these would delay the first frame
    import asyncio
    import subprocess
    from typing import Any, NoReturn

ROOT = str(Path(__file__).parents[2])
"""The directory that contains our package."""
_workspaces: set[str] = set()
_running: set[subprocess.Popen[Any]] = set()
"""The programs that threads are waiting for in `run`."""
_RUN = "import runpy, sys; sys.path += [each for each in {more!r} if each not in sys.path]; del sys.argv[0]; "
_RUN += "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"


def keep_out_of(workspace: Path | str) -> None:
    """Never run a program of ours (git, rg, bash, the editor) from this directory, even if PATH lists it.

    The same applies to the repositories that contain it: trusting a subdirectory of a clone does not mean trusting the
    whole clone. The home directory and its parents are exempt, because the user's own programs are there.
    """
    directory = os.path.realpath(workspace)
    home = str(Path.home())
    _workspaces.update(each for each in (directory, *_repositories_around(directory)) if not _is_inside(home, {each}))


def _repositories_around(path: str) -> list[str]:
    """Return those parent directories of a path that contain a `.git`."""
    return [str(each) for each in Path(path).parents if os.path.lexists(each / ".git")]


def isolated_python(module: str, *words: str) -> list[str]:
    """Return the command that runs one of our modules, isolated from the current directory and `PYTHON*` variables.

    The module can import the packages that this process can import, including the user's site-packages, but nothing
    from a workspace.
    """
    elsewhere = {*(os.path.realpath(each) for each in (sys.prefix, sys.base_prefix)), *_workspaces}
    more = [each for each in sys.path if _is_extra(each) and not _is_inside(each, elsewhere)]
    return [sys.executable, "-I", *_flags(), "-c", _RUN.format(more=[*more, ROOT]), module, *words]


def _is_extra(entry: str) -> bool:
    return os.path.isabs(entry) and entry != ROOT and os.path.realpath(entry) != os.path.realpath(os.curdir)  # noqa: PTH117


def small_python(module: str, *words: str, bare: bool = True) -> list[str]:
    """Return the command that runs `main` of one of our small modules.

    `bare` skips site-packages, for a faster start; otherwise the output is unbuffered.
    """
    run = f"import sys; sys.path.append({ROOT!r}); from {module} import main; main()"
    return [sys.executable, "-I", *(["-S"] if bare else ["-u"]), "-c", run, *words]


def _flags() -> list[str]:
    """Return the options for what `-I` would otherwise lose: writing no bytecode, and UTF-8 mode."""
    return [*(["-B"] if sys.dont_write_bytecode else []), *(["-X", "utf8"] if sys.flags.utf8_mode else [])]


def clean_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those that affect Python, and with a PATH that has no entries inside a workspace."""
    cleaned = {name: value for name, value in env.items() if not name.startswith("PYTHON")}
    return {**cleaned, "PATH": safe_path(env.get("PATH", os.defpath))} if "PATH" in env else cleaned


def python_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that `clean_environment` removes; the user's own programs do receive them."""
    return {name: value for name, value in env.items() if name.startswith("PYTHON")}


def absolute_path(path: str) -> str:
    """Return a PATH without its relative entries, whose meaning changes with each `cd`."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))  # noqa: PTH117 - per start


def safe_path(path: str, *besides: Path | str) -> str:
    """Return a PATH without relative entries, and without entries inside a workspace or a directory in `besides`."""
    home = str(Path.home())
    avoided = {*_workspaces, *(real for each in besides if not _is_inside(home, {real := os.path.realpath(each)}))}
    entries = absolute_path(path).split(os.pathsep)
    return os.pathsep.join(each for each in entries if each and not _is_inside(each, avoided))


def find_program(name: str, env: Mapping[str, str] | None = None, *besides: Path | str) -> str | None:
    """Return the path of a program on the safe PATH of `env` (default: our own), or None if it is not found.

    A name with a slash must be an absolute path. `besides` are further directories whose programs are ignored.
    """
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
    """Start a program; `more` is passed to `subprocess.Popen`. Raises OSError.

    `is_users` means that this is one of the user's programs, or its supervisor: it gets the environment unchanged.
    """
    import subprocess

    return subprocess.Popen(_resolved_command(command), cwd=cwd, env=_environment(env, is_users=is_users), **more)


def run(
    command: Sequence[str],
    *,
    cwd: Path | str = "/",
    env: Mapping[str, str] | None = None,
    is_users: bool = False,
    **more: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run a program and wait for it; `more` is as for `subprocess.run`. Raises OSError and TimeoutError.

    The program is killed when this process exits: see `end_running`.
    """
    import subprocess

    data, timeout = more.pop("input", None), more.pop("timeout", None)
    if more.pop("capture_output", False):
        more |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if data is not None:
        more["stdin"] = subprocess.PIPE
    process = start(command, cwd=cwd, env=env, is_users=is_users, **more)
    _running.add(process)
    try:
        with process:
            try:
                output, errors = process.communicate(data, timeout)
            except BaseException:
                process.kill()
                raise
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"it took longer than {timeout:g} s") from error
    finally:
        _running.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def run_until_interrupted(
    command: Sequence[str], on_interrupt: Callable[[Callable[[], None]], None], timeout: float
) -> tuple[str, str]:
    """Run a program that cleans up when it gets SIGINT; return its stdout and stderr. Raises OSError.

    `on_interrupt` receives a function that sends the program SIGINT, as also happens after `timeout` seconds. The
    program has a session of its own, so it can finish cleaning up after this process has ended.
    """
    import subprocess

    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with start(command, start_new_session=True, stdin=nothing, stdout=pipe, stderr=pipe) as process:

        def interrupt() -> None:
            process.send_signal(signal.SIGINT)

        on_interrupt(interrupt)
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            interrupt()
            output, errors = process.communicate()
    return output.decode(errors="replace"), errors.decode(errors="replace")


@atexit.register
def end_running() -> None:
    """Kill the programs that threads still wait for; called at exit, and before `os._exit`, which skips exit
    handlers.
    """
    for process in list(_running):
        process.kill()


def end_process(status: int) -> NoReturn:
    """End this process without the interpreter's shutdown, which frees all objects and takes up to 0.4 s after a screen
    was shown.

    Waits up to 5 s for each thread that is not a daemon. Raises OSError if the output cannot be written.
    """
    import threading

    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(5)  # the idle threads of an executor end only with the interpreter
    end_running()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


async def start_beside(
    command: Sequence[str],
    *,
    cwd: Path | str = "/",
    env: Mapping[str, str] | None = None,
    is_users: bool = False,
    **more: Any,
) -> asyncio.subprocess.Process:
    """Start a program whose pipes belong to the running event loop; otherwise like `start`."""
    import asyncio

    environment = _environment(env, is_users=is_users)
    return await asyncio.create_subprocess_exec(*_resolved_command(command), cwd=cwd, env=environment, **more)


def _environment(env: Mapping[str, str] | None, *, is_users: bool) -> dict[str, str]:
    """Return the given environment (default: ours without secrets), cleaned unless the program is the user's."""
    environment = child_environment() if env is None else env
    return dict(environment) if is_users else clean_environment(environment)


def _resolved_command(command: Sequence[str]) -> list[str]:
    """Return the command with the absolute path of its program. Raises FileNotFoundError."""
    program = find_program(command[0])
    if program is None:
        raise FileNotFoundError(2, "no such program in the PATH", command[0])
    return [program, *command[1:]]


def _is_inside(path: str, directories: Set[str]) -> bool:
    """Return whether a path is, or is inside, one of the directories, which are real paths.

    The time does not grow with the number of directories: a process may open thousands of workspaces, and every start
    of a program checks this for each entry of PATH.
    """
    real = os.path.realpath(path)
    while real not in directories:
        if real == os.sep:
            return False
        real = real.rpartition(os.sep)[0] or os.sep
    return True
