"""Finds the container images in a server's command whose content may differ at the next start."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import words


class _Runner(NamedTuple):
    """How to find the image in the command line of a program that runs containers."""

    verbs: frozenset[str]
    """The subcommands that run an image; any number of `groups` may precede them."""
    switches: frozenset[str]
    """Long options without a value; after any other long option comes its value, unless it is in the same word."""
    letters: str
    """Letters of short options without a value."""
    groups: frozenset[str] = frozenset({"container"})


_DOCKER: Final = _Runner(
    words("run create"),
    words(
        "--detach --disable-content-trust --env-host --help --http-proxy --init --interactive --no-healthcheck "
        "--no-hostname --no-hosts --oom-kill-disable --passwd --privileged --publish-all --quiet --read-only "
        "--read-only-tmpfs --replace --rm --rmi --rootfs --sig-proxy --tls-verify --tty --unsetenv-all "
        "--use-api-socket --debug --tls --tlsverify --remote --ssh --virtualization --rosetta --no-dns "
        "--insecure-registry"
    ),
    "itdPqDr",
)
_APPTAINER: Final = _Runner(
    words("run exec shell instance start"),
    words(
        "--cleanenv --contain --containall --fakeroot --no-home --nv --rocm --writable --writable-tmpfs --compat "
        "--userns --pid --ipc --net --uts --no-privs --keep-privs --allow-setuid --no-init --no-umask --no-eval "
        "--disable-cache --debug --quiet --verbose --silent --nohttps --no-https --unsquash"
    ),
    "eCcfupidqvsw",
    frozenset({"instance"}),
)
_CTR: Final = _Runner(
    words("run create"),
    words("--rm --tty -t --detach -d --privileged --net-host --read-only --null-io --cni --debug --local --keep-fd"),
    "td",
    words("container containers c"),
)
_RUNNERS: Final = {
    **dict.fromkeys(words("docker podman nerdctl finch container podman-remote"), _DOCKER),
    **dict.fromkeys(words("apptainer singularity"), _APPTAINER),
    "ctr": _CTR,
}
_CLUSTER: Final = words("kubectl oc")
"""Programs that get the image as the value of `--image`."""
_LINE: Final = lazy_pattern(r"\s|[;&|]")
_LONGEST_LINE: Final = 10_000
_DIGEST: Final = lazy_pattern(r"(?:\A|@)sha(?:256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128})\Z|\A[0-9a-f]{64}\Z")
_LOCAL: Final = lazy_pattern(r"[./~]|(?:oci|oci-archive|docker-archive|dir|containers-storage|file):|.*\.sif\Z")


def unpinned_images(argv: Sequence[str]) -> tuple[str, ...]:
    """Return up to ten images that a command runs without naming their digest.

    A version tag is not enough, because it may point to another image later.
    """
    images = (image for listed in (argv, *_lines(argv)) for image in _images(listed))
    return tuple(dict.fromkeys(image for image in images if image and not _is_fixed(image)))[:10]


def _lines(argv: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of each shell command line in the command: `sh -c LINE`, `--command=LINE`."""
    for word in argv:
        line = word.partition("=")[2] if word.startswith("-") else word
        if _LINE.search(line) and len(line) < _LONGEST_LINE:
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            with suppress(ValueError):
                yield list(lexer)


def _images(argv: Sequence[str]) -> Iterator[str]:
    for at, word in enumerate(argv):
        name = Path(word).name
        if name in _RUNNERS:
            yield _image(_RUNNERS[name], argv[at + 1 :])
        elif name in _CLUSTER:
            yield from _values(argv[at + 1 :], "--image")


def _image(runner: _Runner, rest: Sequence[str]) -> str:
    """Return the image after the subcommand; empty if the subcommand does not run an image."""
    operands = _operands(runner, rest)
    verb = next((each for each in operands if each not in runner.groups), "")
    return next(operands, "") if verb in runner.verbs and "--rootfs" not in rest else ""


def _operands(runner: _Runner, rest: Sequence[str]) -> Iterator[str]:
    """Yield the words that are neither options nor their values."""
    listed = iter(rest)
    for word in listed:
        if word == "--":
            yield from listed
        elif not word.startswith("-") or word == "-":
            yield word
        elif _takes_next(runner, word):
            next(listed, None)


def _takes_next(runner: _Runner, word: str) -> bool:
    """Return whether the next word is the value of this option."""
    if word.startswith("--"):
        return "=" not in word and word not in runner.switches
    letters = word[1:].lstrip(runner.letters)
    return len(letters) == 1


def _values(rest: Sequence[str], option: str) -> Iterator[str]:
    for word, after in zip(rest, (*rest[1:], ""), strict=True):
        if word == option:
            yield after
        elif word.startswith(f"{option}="):
            yield word.partition("=")[2]


def _is_fixed(image: str) -> bool:
    """Return whether an image is named by its digest, or is local."""
    return bool(_DIGEST.search(image) or _LOCAL.match(image))
