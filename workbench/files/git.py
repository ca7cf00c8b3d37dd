"""The only place that runs git, as a contract test checks. Nothing in the repository is ever executed.

Used by file snapshots, the diff viewer, the status line and the demo. Hooks, fsmonitor, filters, textconv,
external diffs, merge drivers, pagers, signatures, transports (and so lazy fetches from a promisor) and nested bare
repositories are disabled. The user's and the system's settings are ignored, except those for line endings, ignored
files and safe directories. Git variables in our own environment are not inherited; every call has a time limit.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from workbench.lazy_pattern import lazy_pattern
from workbench.processes.spawn import run, safe_path
from workbench.secrets.secret_names import child_environment

TIMEOUT = 10.0
"""Default time limit of a call, in seconds."""
NO_GIT = "git is not installed, or not in the PATH"
_DIFF = ("--no-ext-diff", "--no-textconv")
_ALL_DIFF = (*_DIFF, "--ignore-submodules=all")  # a submodule has settings of its own
_GUARDS: Mapping[str, tuple[str, ...]] = {  # allowed command -> the options that make it harmless
    "apply": ("--cached", "--whitespace=nowarn", "--no-ignore-whitespace"),
    "cat-file": (),
    "check-attr": (),
    "check-ignore": (),
    "check-ref-format": (),
    "commit-tree": ("--no-gpg-sign",),
    "diff": _ALL_DIFF,
    "diff-files": _ALL_DIFF,
    "diff-index": _ALL_DIFF,
    "diff-tree": _DIFF,
    "hash-object": (),
    "index-pack": (),
    "init": ("--template=",),
    "log": _DIFF,
    "ls-files": (),
    "ls-tree": (),
    "merge-base": (),
    "pack-objects": (),
    "prune": (),
    "read-tree": (),
    "repack": (),
    "rev-parse": (),
    "show": _DIFF,
    "status": ("--ignore-submodules=all",),
    "add": (),
    "update-index": (),
    "update-ref": (),
    "verify-pack": (),
    "version": (),
    "worktree": (),
    "write-tree": (),
}
_OWN_ONLY = frozenset({"index-pack", "pack-objects", "prune", "repack"})
"""Commands that write packs or delete objects, which are allowed only in a repository of our own."""
_SETTINGS: Mapping[str, str] = {
    "core.alternateRefsCommand": "false",
    "core.askPass": "false",
    "core.attributesFile": os.devnull,
    "core.editor": "false",
    "core.fsmonitor": "false",
    "core.gitProxy": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.virtualFilesystem": "",
    "credential.helper": "",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    "diff.submodule": "short",
    # `%G?` in the repository's own format verifies signatures, with a program that the repository names
    "format.pretty": "medium",
    "gc.auto": "0",
    "gpg.program": "false",
    "gpg.openpgp.program": "false",
    "gpg.ssh.defaultKeyCommand": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "sequence.editor": "false",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
}
_WRITES = lazy_pattern(r"--o(?:u(?:t(?:p(?:ut?)?)?)?)?(?:=|$)")
"""Matches `--output` and its abbreviations, which no caller needs, but which an argument of unknown origin might be."""
_MALLOC: Mapping[str, str] = {"MALLOC_MMAP_THRESHOLD_": "67108864", "MALLOC_TRIM_THRESHOLD_": "67108864"}
"""Lets git keep the 300 KB that it needs for each file it compresses; by default glibc returns them to the system each
time, which takes twice as long as everything else when the files of a large directory are stored. Other C libraries
ignore this.
"""
_PROGRAMS = ("clean", "smudge", "process", "textconv", "command", "driver")
_DRIVERS = ("filter", "diff", "merge")
_OFF: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("remote", "promisor"): {"promisor": "false"},
    ("remote", "partialclonefilter"): {"promisor": "false"},
    ("hook", "command"): {"enabled": "false"},
    ("credential", "helper"): {"helper": ""},
    ("gpg", "program"): {"program": "false"},
}
"""The first and last part of settings such as `remote.NAME.promisor`, with a NAME that the repository chooses -> the
values that disable them.
"""
_USERS = ("core.autocrlf", "core.eol", "core.excludesfile", "safe.directory")
"""The user's and the system's settings that stay in force: without them, directories may look changed or unsafe."""


EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The name of the tree of an empty directory, which git knows without an object."""


class GitAnswer(msgspec.Struct, frozen=True):
    """The result of a git command; `code` is None if it could not run or timed out (`error` says why)."""

    code: int | None
    output: bytes = b""
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether git ran and succeeded."""
        return self.code == 0


class OwnRepository(msgspec.Struct, frozen=True):
    """A repository of our own for a directory: our settings apply, and the directory's own repository is not read."""

    git_dir: Path
    work_tree: Path
    index: Path | None = None
    objects: Path | None = None
    """Where objects are written, if not in the repository itself."""
    also_read: Path | None = None
    """The objects of another repository, which are read as well; its settings are not."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables that select the index and the objects."""
        paths = {
            "GIT_INDEX_FILE": self.index,
            "GIT_OBJECT_DIRECTORY": self.objects,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": self.also_read,
        }
        return {name: str(path) for name, path in paths.items() if path is not None}


def create_own_repository(git_dir: Path, attributes: bytes = b"") -> None:
    """Create an empty repository of our own, unless it exists, with these attributes. Raises OSError.

    It has what `git init` creates, without the process that this would take.
    """
    if (git_dir / "HEAD").exists():
        return
    for name in ("objects", "refs", "info"):
        (git_dir / name).mkdir(parents=True, exist_ok=True)
    (git_dir / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n")
    (git_dir / "info/attributes").write_bytes(attributes)
    # The last file: only with it, this is a repository.
    (git_dir / "HEAD").write_text("ref: refs/heads/main\n")


def run_git(
    arguments: Sequence[str],
    *,
    cwd: Path | str,
    own: OwnRepository | None = None,
    data: bytes = b"",
    timeout: float = TIMEOUT,
    settings: Mapping[str, str] | None = None,
    also: Path | None = None,
) -> GitAnswer:
    """Run `git ARGUMENTS` in `cwd`, with `data` on stdin, on the repository that contains `cwd`, or on `own` if given.

    `settings` are additional settings, such as a name for commits. `also` is another worktree in which the command
    reads files; the programs that its settings name are disabled too. Raises ValueError for a command that is not on
    the list of harmless ones, or with the option `--output`; every other failure is reported in the answer.
    """
    guards = _GUARDS.get(arguments[0])
    if guards is None:
        raise ValueError(f"git {arguments[0]} is not among the commands that run nothing of a repository")
    if own is None and arguments[0] in _OWN_ONLY:
        raise ValueError(f"git {arguments[0]} would write to the objects of the user's repository")
    if any(_WRITES.match(word) for word in _options(arguments)):
        raise ValueError(f"git {arguments[0]} would write a file that an option names")
    plain = _plain_environment(cwd)
    git = shutil.which("git", path=plain["PATH"] or os.devnull)
    if git is None:
        return GitAnswer(None, error=NO_GIT)
    command = [git, "--no-pager", arguments[0], *guards, *arguments[1:]]
    if own is not None:
        command[1:1] = [f"--git-dir={own.git_dir}", f"--work-tree={own.work_tree}"]
        return _call(command, cwd, {**_environment(plain, settings or {}), **own.variables}, data, timeout)
    listing = [git, "--no-pager", "config", "--list", "--show-scope", "-z"]
    entries: list[tuple[str, str, str]] = []
    for directory in (cwd, *([] if also is None else [also])):
        listed = _call(listing, directory, _listing_environment(plain), b"", timeout)
        if not listed.ok:  # unknown settings could name programs, so nothing is run
            return GitAnswer(None, error=listed.error or "git cannot read its settings here")
        entries += _listed(listed.output)
    environment = _environment(plain, {**_switched_off(entries), **(settings or {})}, _of_user(entries))
    return _call(command, cwd, environment, data, timeout)


def _options(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _call(
    command: Sequence[str], cwd: Path | str, environment: Mapping[str, str], data: bytes, timeout: float
) -> GitAnswer:
    try:
        done = run(command, cwd=cwd, env=environment, input=data, capture_output=True, timeout=timeout)
    except TimeoutError:
        return GitAnswer(None, error=f"git took longer than {timeout:g} s")
    except OSError as error:
        return GitAnswer(None, error=f"git could not be started: {error.strerror or error}")
    return GitAnswer(done.returncode, done.stdout, done.stderr.decode(errors="replace").strip())


def _plain_environment(cwd: Path | str) -> dict[str, str]:
    variables = {
        name: value
        for name, value in child_environment().items()
        if not name.startswith(("GIT_", "SSH_ASKPASS", "LC_", "LANG"))
    }
    path = safe_path(os.environ.get("PATH", os.defpath), cwd)
    return {**variables, **_MALLOC, "PATH": path, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}


def _listing_environment(plain: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for listing the settings, including the user's. Listing them runs no program."""
    return {**plain, **_as_variables([*_SETTINGS.items()])}


def _environment(
    plain: Mapping[str, str], settings: Mapping[str, str], of_user: Sequence[tuple[str, str]] = ()
) -> dict[str, str]:
    fixed = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    return {**plain, **fixed, **_as_variables([*of_user, *{**_SETTINGS, **settings}.items()])}


def _as_variables(settings: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return settings as environment variables, which override the repository's and allow any character in a name."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for at, (key, value) in enumerate(settings):
        variables[f"GIT_CONFIG_KEY_{at}"] = key
        variables[f"GIT_CONFIG_VALUE_{at}"] = value
    return variables


def _listed(output: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield the scope, key and value of each setting in the output of `git config --list --show-scope -z`."""
    parts = os.fsdecode(output).split("\0")
    for scope, entry in zip(parts[:-1:2], parts[1::2], strict=True):
        key, _, value = entry.partition("\n")
        yield scope, key, value


def _of_user(entries: Sequence[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Return the user's and the system's settings that stay in force, in order: a key may have several values."""
    return [(key, value) for scope, key, value in entries if key in _USERS and scope in ("system", "global")]


def _switched_off(entries: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """Return settings that disable every program that the settings in `entries` name."""
    emptied: dict[str, str] = {}
    for scope, key, _ in entries:
        kind, _, rest = key.partition(".")
        name, _, variable = rest.rpartition(".")
        if scope == "command":
            continue
        if kind in _DRIVERS and variable in (*_PROGRAMS, "required"):
            emptied |= {f"{kind}.{name}.{program}": "" for program in _PROGRAMS}
            emptied[f"{kind}.{name}.required"] = "false"
        emptied |= {f"{kind}.{name}.{each}": value for each, value in _OFF.get((kind, variable), {}).items() if name}
    return emptied


def clone(origin: str, directory: Path, revision: str = "", timeout: float = 1_800.0) -> GitAnswer:
    """Clone a repository that the user names into an empty directory, and check out the default branch.

    With a revision, which is any commit of the repository, the clone contains only that commit, its history and the
    tags in there: whoever works in it cannot look up what came later. It has no remote.

    Unlike `run_git`, this uses the user's settings and credentials, for whose server it is; it never asks for any.
    Hooks do not run. Failures are in the answer.
    """
    git = shutil.which("git", path=safe_path(os.environ.get("PATH", os.defpath), directory) or os.devnull)
    if git is None:
        return GitAnswer(None, error=NO_GIT)
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -o BatchMode=yes", "LC_ALL": "C"}
    environment = {**child_environment(), **quiet, **_as_variables([*_OF_CLONE.items()])}

    def call(*words: str) -> GitAnswer:
        return _call([git, *words], directory, environment, b"", timeout)

    if revision:
        return _clone_at(call, origin, directory, revision)
    answer = call("clone", "--quiet", "--no-checkout", "--", origin, ".")
    return call("checkout", "--quiet", "--detach") if answer.ok else answer


def _clone_at(call: Callable[..., GitAnswer], origin: str, directory: Path, revision: str) -> GitAnswer:
    """Clone one revision with its history; `call` runs git in the directory."""
    answer = call("init", "--quiet", "--template=")
    if answer.ok:
        answer = call("fetch", *_OF_FETCH, "--", origin, f"{revision}:{_FETCHED}")
        if not answer.ok:
            complete = directory.with_name(f"{directory.name}.complete")
            answer = _fetch_from_complete(call, origin, complete, revision)
            shutil.rmtree(complete, ignore_errors=True)
    if answer.ok:
        answer = call("checkout", "--quiet", "--detach", _FETCHED)
    if answer.ok:
        # HEAD keeps the commit, and the file would name the repository that has what came later.
        answer = call("update-ref", "-d", _FETCHED)
        (directory / ".git/FETCH_HEAD").unlink(missing_ok=True)
    return answer


def _fetch_from_complete(call: Callable[..., GitAnswer], origin: str, complete: Path, revision: str) -> GitAnswer:
    """Fetch a revision that only a complete clone can resolve: an abbreviated hash, or one such as `v1.0~3`."""
    answer = call("clone", "--quiet", "--no-checkout", "--", origin, str(complete))
    if not answer.ok:
        return answer
    commit = ("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    answer = call("-C", str(complete), *commit)
    if not answer.ok:
        return answer
    return call("fetch", *_OF_FETCH, "--", str(complete), f"{answer.output.decode().splitlines()[-1]}:{_FETCHED}")


_FETCHED = "refs/ohw/revision"
_OF_FETCH = ("--quiet", "--update-shallow")
_OF_CLONE: Mapping[str, str] = {
    "core.hooksPath": os.devnull,
    "core.askPass": "false",
    "protocol.ext.allow": "never",
    "advice.detachedHead": "false",
}
