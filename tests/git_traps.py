"""Repositories that make git run a program of theirs: one trap each, and the ordinary git command that triggers it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pexpect

_SIGNATURES = {
    "openpgp": "PGP SIGNATURE",
    "x509": "SIGNED MESSAGE",
    "ssh": "SSH SIGNATURE",
}
_FILL = "printf 'protocol=https\\nhost=x.example\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill"
_CONFLICT = "git checkout -q -- . && git merge -q --no-edit side"


@dataclass(frozen=True)
class Trap:
    """Settings of a repository (`{0}` is the program), other files that it needs, and the shell line that triggers
    it.
    """

    name: str
    settings: Sequence[tuple[str, str]]
    sprung_by: str
    attributes: str = ""
    signature: str = ""
    hook: str = ""

    def __str__(self) -> str:
        return self.name


def _setting(key: str, sprung_by: str, *more: tuple[str, str], attributes: str = "", signature: str = "") -> Trap:
    return Trap(key, ((key, "{0}"), *more), sprung_by, attributes, signature)


TRAPS: tuple[Trap, ...] = (
    _setting("core.alternateRefsCommand", "git log --alternate-refs"),
    _setting("core.askPass", _FILL),
    _setting("core.editor", "git config --edit"),
    _setting("core.fsmonitor", "git status"),
    _setting("core.gitProxy", "git ls-remote git://x.example/y"),
    _setting("core.pager", "git log"),
    _setting("core.sshCommand", "git ls-remote ssh://x.example/y"),
    _setting("credential.helper", _FILL),
    _setting("credential.https://x.example.helper", _FILL),
    _setting("diff.external", "git diff"),
    _setting("diff.canary.textconv", "git diff", attributes="* diff=canary"),
    _setting("diff.canary.command", "git diff", attributes="* diff=canary"),
    _setting("filter.canary.clean", "git diff", attributes="* filter=canary"),
    _setting("filter.canary.smudge", "git checkout -- .", attributes="* filter=canary"),
    _setting("filter.lfs.process", "git diff", attributes="* filter=lfs"),
    _setting("filter.a=b.clean", "git diff", attributes="* filter=a=b"),
    _setting("filter.a.b.process", "git diff", attributes="* filter=a.b"),
    _setting("gpg.program", "git show", ("log.showSignature", "true"), signature="openpgp"),
    _setting("gpg.openpgp.program", "git log --format=%G?", ("format.pretty", "%G?"), signature="openpgp"),
    _setting("gpg.x509.program", "git show", ("log.showSignature", "true"), signature="x509"),
    _setting(
        "gpg.ssh.program",
        "git show",
        ("log.showSignature", "true"),
        ("gpg.ssh.allowedSignersFile", os.devnull),
        signature="ssh",
    ),
    _setting("gpg.ssh.defaultKeyCommand", "git commit -S --allow-empty -m x", ("gpg.format", "ssh")),
    _setting("interactive.diffFilter", "printf 'q\\n' | git -c color.ui=always add -p"),
    _setting("pager.status", "git status"),
    _setting("remote.origin.uploadpack", "git ls-remote origin", ("remote.origin.url", "../other")),
    _setting("sequence.editor", "git stash -q; git rebase -i HEAD^"),
    _setting("merge.canary.driver", _CONFLICT, attributes="* merge=canary"),
    *(
        Trap(hook, (), sprung_by, hook=hook)
        for hook, sprung_by in {
            "post-index-change": "git add -A",
            "pre-commit": "git commit -qam x",
            "post-checkout": "git checkout -f -q side",
            "reference-transaction": "git update-ref refs/heads/x HEAD",
        }.items()
    ),
    Trap(
        "fsmonitor as a hook",
        (("core.fsmonitor", ".git/hooks/fsmonitor-watchman"),),
        "git status",
        hook="fsmonitor-watchman",
    ),
)
"""Every way in which a repository can make this git run a program; newer versions also know `hook.NAME.command`."""


def git(directory: Path, *arguments: str, data: str | None = None) -> str:
    """Run an ordinary git without a user's settings; return its output."""
    done = subprocess.run(
        ["git", *arguments], cwd=directory, env=_environment(), check=True, capture_output=True, input=data, text=True
    )
    return done.stdout.strip()


def make_index_stale(directory: Path) -> None:
    """Make the next look of git rewrite the index, and so run `post-index-change`, whatever the clock says.

    It takes a file that is *not* modified: only such a file's entry is refreshed.
    """
    os.utime(directory / "b.txt", (1, 1))


@functools.cache
def _template() -> tempfile.TemporaryDirectory[str]:
    """Make the repositories `work` and `other`, without anything yet that git would run, once for each process."""
    made = tempfile.TemporaryDirectory(prefix="ohw-test-git-")
    directory, other = Path(made.name, "work"), Path(made.name, "other")
    for each in (directory, other):
        each.mkdir()
        git(each, "init", "-q", "-b", "main")
        git(each, "config", "user.name", "a")
        git(each, "config", "user.email", "a@b.c")
        for text in ("one\n", "two\n"):
            (each / "a.txt").write_text(text)
            (each / "b.txt").write_text(text)
            git(each, "add", "-A")
            git(each, "commit", "-q", "-m", text)
    _branch(directory, "side", git(directory, "rev-parse", "HEAD^"))
    return made


def trapped(trap: Trap, parent: Path) -> Path:
    """Make the repository `parent/work`, with changes, and its program `parent/canary`, which writes `parent/sang`."""
    directory, other, canary = parent / "work", parent / "other", parent / "canary"
    canary.write_text(f'#!/bin/sh\necho "$0 $*" >> {parent}/sang\n')
    canary.chmod(0o755)
    for each in (directory, other):
        shutil.copytree(Path(_template().name, each.name), each, symlinks=True)
        git(each, "update-index", "-q", "--refresh")  # the copies of the files have other inodes
    (directory / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")
    tree = git(directory, "write-tree") if trap.signature else ""  # of the second commit
    if trap.signature:
        git(directory, "update-ref", "HEAD", _signed(directory, tree, _SIGNATURES[trap.signature]))
    (directory / ".git/info").mkdir(exist_ok=True)
    (directory / ".git/info/attributes").write_text(trap.attributes + "\n")
    (directory / "a.txt").write_text("three\n")
    (directory / "c.txt").write_text("new\n")
    if trap.hook:
        (directory / ".git/hooks").mkdir(exist_ok=True)
        (directory / ".git/hooks" / trap.hook).symlink_to(canary)
        make_index_stale(directory)
    for key, value in trap.settings:
        git(directory, "config", key, value.format(canary))
    (parent / "sang").unlink(missing_ok=True)  # setting up a trap may trigger it
    return directory


def _branch(directory: Path, name: str, parent: str) -> None:
    """A branch from the parent that changes the same line in another way."""
    blob = git(directory, "hash-object", "-w", "--stdin", data="other\n")
    tree = git(directory, "mktree", data=f"100644 blob {blob}\ta.txt\n100644 blob {blob}\tb.txt\n")
    git(directory, "update-ref", f"refs/heads/{name}", git(directory, "commit-tree", tree, "-p", parent, "-m", name))


def _signed(directory: Path, tree: str, kind: str) -> str:
    """Return a commit on top of HEAD whose signature only the repository's program can verify."""
    lines = [
        f"tree {tree}",
        f"parent {git(directory, 'rev-parse', 'HEAD')}",
        *(f"{who} a <a@b.c> 1 +0000" for who in ("author", "committer")),
    ]
    lines += [f"gpgsig -----BEGIN {kind}-----", " ", " x", f" -----END {kind}-----", "", "signed", ""]
    return git(directory, "hash-object", "-t", "commit", "-w", "--stdin", data="\n".join(lines))


def spring(trap: Trap, directory: Path) -> str:
    """Run the triggering command on a terminal, as a user would; return the arguments the program was called with."""
    shell = pexpect.spawn("/bin/sh", ["-c", trap.sprung_by], cwd=str(directory), env=_environment(), timeout=20)
    shell.expect(pexpect.EOF)
    shell.close()
    return sang(directory)


def sang(directory: Path) -> str:
    """Return the arguments the program beside a repository was called with, empty if it did not run."""
    mark = directory.parent / "sang"
    return mark.read_text() if mark.exists() else ""


def _environment() -> dict[str, str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "EDITOR", "VISUAL", "PAGER", "SSH_ASKPASS"))
    }
    return {**environment, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "TERM": "xterm"}
