"""Runs git so that nothing of the repository is executed; used by file versions, merging and the diff viewer.

Hooks, fsmonitor, filters, textconv, external diffs, merge drivers, pagers, signatures, transports and the settings of
user and system are off; variables of git in our own environment do not reach it; every call has a time limit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.secret_names import child_environment

TIMEOUT = 10.0
"""Seconds a call may take where nothing else is said."""
NO_GIT = "git is not installed, or not in the PATH"
_DIFF = ("--no-ext-diff", "--no-textconv")
_ALL_DIFF = (*_DIFF, "--ignore-submodules=all")  # a submodule has settings of its own
_GUARDS: Mapping[str, tuple[str, ...]] = {  # the commands that may be used -> what makes them harmless
    "cat-file": (),
    "check-ignore": (),
    "diff": _ALL_DIFF,
    "diff-files": _ALL_DIFF,
    "diff-index": _ALL_DIFF,
    "diff-tree": _DIFF,
    "hash-object": (),
    "init": ("--template=",),
    "log": _DIFF,
    "ls-files": (),
    "ls-tree": (),
    "merge-file": (),
    "prune": (),
    "read-tree": (),
    "rev-parse": (),
    "show": _DIFF,
    "status": ("--ignore-submodules=all",),
    "add": (),
    "update-index": (),
    "version": (),
    "write-tree": (),
}
_SETTINGS: Mapping[str, str] = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    "gc.auto": "0",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
_PROGRAMS = ("clean", "smudge", "process", "textconv", "command", "driver")
_DRIVERS = ("filter", "diff", "merge")


@dataclass(frozen=True)
class GitAnswer:
    """What git said: its exit code and output; `code` is None when it could not run at all (`error` says why)."""

    code: int | None
    output: bytes = b""
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether git ran and ended well."""
        return self.code == 0


@dataclass(frozen=True)
class OwnRepository:
    """A repository of our own beside a folder: its settings are ours, and the folder's own repository is not read."""

    git_dir: Path
    work_tree: Path
    index: Path | None = None


def run_git(
    arguments: Sequence[str],
    *,
    cwd: Path | str,
    own: OwnRepository | None = None,
    data: bytes = b"",
    timeout: float = TIMEOUT,
) -> GitAnswer:
    """`git ARGUMENTS` in that folder, on the repository around it or on one of our `own`, with `data` on its stdin.

    Raises ValueError for a command that is not known to be harmless; all else is in the answer.
    """
    guards = _GUARDS.get(arguments[0])
    if guards is None:
        raise ValueError(f"git {arguments[0]} is not among the commands that run nothing of a repository")
    path = _path_without(cwd)
    git = shutil.which("git", path=path)
    if git is None:
        return GitAnswer(None, error=NO_GIT)
    if own is not None:
        command = [git, f"--git-dir={own.git_dir}", f"--work-tree={own.work_tree}"]
        environment = _environment(path, {}) | ({"GIT_INDEX_FILE": str(own.index)} if own.index else {})
    else:
        command = [git]
        listed = _call([git, "config", "--list", "--name-only", "-z"], cwd, _environment(path, {}), b"", timeout)
        environment = _environment(path, _no_drivers(listed.output))
    command += ["--no-pager", arguments[0], *guards, *arguments[1:]]
    return _call(command, cwd, environment, data, timeout)


def _call(
    command: Sequence[str], cwd: Path | str, environment: Mapping[str, str], data: bytes, timeout: float
) -> GitAnswer:
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, input=data, capture_output=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return GitAnswer(None, error=f"git took longer than {timeout:g} s")
    except OSError as error:
        return GitAnswer(None, error=f"git could not be started: {error.strerror or error}")
    return GitAnswer(done.returncode, done.stdout, done.stderr.decode(errors="replace").strip())


def _path_without(cwd: Path | str) -> str:
    """The PATH without relative folders and without those in `cwd`: a `git` that lies there is not git."""
    inside = os.path.realpath(cwd)
    kept = [
        folder
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if Path(folder).is_absolute() and not Path(os.path.realpath(folder)).is_relative_to(inside)
    ]
    return os.pathsep.join(kept)


def _environment(path: str, settings: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in child_environment().items() if not name.startswith("GIT_")}
    fixed = {
        "PATH": path,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
    return {**kept, **fixed, **_as_variables({**_SETTINGS, **settings})}


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as variables: they win over those of the repository, and a name may hold any sign."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for at, (key, value) in enumerate(settings.items()):
        variables[f"GIT_CONFIG_KEY_{at}"] = key
        variables[f"GIT_CONFIG_VALUE_{at}"] = value
    return variables


def _no_drivers(listed: bytes) -> dict[str, str]:
    """Settings that empty every program which the repository's own settings name."""
    emptied: dict[str, str] = {}
    for key in os.fsdecode(listed).split("\0"):
        kind, _, rest = key.partition(".")
        name, _, variable = rest.rpartition(".")
        if kind not in _DRIVERS or variable not in (*_PROGRAMS, "required"):
            continue
        emptied |= {f"{kind}.{name}.{program}": "" for program in _PROGRAMS}
        emptied[f"{kind}.{name}.required"] = "false"
    return emptied
