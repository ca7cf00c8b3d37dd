"""Recognizes commands that read or rewrite whole directories without naming the files in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.assessment import Part
from workbench.risk.paths import words

READS_TREES: Final = words("find fd rg ag ack tree du tar zip 7z rsync mv glob pax chroot")
"""Programs and tools that read whole directories."""
_UPLOADS: Final = words(
    "rclone restic borg kopia duplicity unison s3cmd azcopy rdiff-backup croc wormhole vercel netlify surge"
    " tarsnap shar mkisofs genisoimage mksquashfs bindfs"
)
"""Programs that copy or send whole directories."""
_FORMATS: Final = words(
    "black isort autopep8 yapf autoflake pyupgrade docformatter prettier eslint biome stylelint standard dprint rome"
    " ruff flake8 pylint pyflakes pycodestyle pydocstyle mypy pyright bandit semgrep vulture radon cloc tokei scc ctags"
    " codespell typos gofmt goimports gofumpt shfmt clang-format swiftformat swiftlint rubocop standardrb ktlint detekt"
    " yamllint ansible-lint jscpd gitleaks trufflehog"
)
"""Programs that read, and may rewrite, each source file below a directory, and print lines of it."""
_ASKS: Final = words("--version -V --help -h help version rule linter config")
_TAKES_TREE: Final = {
    **dict.fromkeys(("docker", "podman", "nerdctl", "buildah"), words("build buildx bake cp")),
    **dict.fromkeys(
        ("aws", "gsutil", "gcloud", "az", "mc", "oci"), words("sync rsync mirror deploy upload-batch submit")
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), words("publish pack")),
    "mount": words("--bind --rbind -B -R"),
    **dict.fromkeys(("cargo", "vsce"), words("publish package")),
    **dict.fromkeys(("fly", "flyctl", "firebase", "wrangler", "heroku", "railway", "eb"), words("deploy up")),
}
"""Verbs or flags with which a program sends, packs or exposes a whole directory, by program."""
_MODULES: Final = words("http.server zipfile tarfile compileall zipapp trace lib2to3 libcst.tool")
"""Python modules, run with `-m`, that read whole directories."""
_BY_VERB: Final = words(
    "cargo go nix deno terraform tofu packer terragrunt mix dart flutter zig dotnet gradle gradlew mvn mvnw sbt mill"
    " dune gleam forge buf crystal raco rails swift v nimble hatch uv uvx bun"
)
"""Programs with verbs that format or check all source files."""
_FORMAT_VERB: Final = lazy_pattern(
    r"(?:[\w.]*[:_-])?(?:fmt|format|formatter|fix|vet|lint|clippy|spotless|scalafmt|scalafix|ktlint|detekt|checkstyle)"
    r"(?:[A-Z]\w*|[:_-]\w+)?"
)
_CHECKS_ALL: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("pre-commit", "prek"), words("-a --all-files")),
    "lefthook": words("--all-files"),
    **{"php": words("-S"), "ruby": words("-run"), "busybox": words("httpd")},
}
"""Flags with which a program runs over, or serves, all files, by program."""
_INLINE: Final = words("node nodejs deno bun perl ruby php lua tclsh")
_WALKS: Final = lazy_pattern(
    r"readdir|scandir|opendir|\bglob|\bDir\b|File::Find|Find\.find|DirectoryIterator|recursive|cpSync|\bwalk|lfs\.dir|"
    r"<[^<>\s]*\*[^<>\s]*>"
)
"""Matches code that walks directories, in languages other than Python."""
_BY_R: Final = words("rm cp chmod chown chgrp grep egrep fgrep diff scp gzip gunzip zstd gsutil")
_MODULE_FLAG: Final = lazy_pattern(r"-[a-zA-Z]*m")
_CLUSTER: Final = lazy_pattern(r"-[a-zA-Z]+")


def is_of_sources(part: Part) -> bool:
    """Return whether a command formats or checks all source files below the directories that it names."""
    name, rest = _split(part)
    return (
        any(word.rpartition("/")[2] in _FORMATS for word in part.words)
        or (name in _BY_VERB and any(map(_FORMAT_VERB.fullmatch, rest[:3])))
        or _runs_module(name, rest)
        or not _CHECKS_ALL.get(name, frozenset()).isdisjoint(rest)
    )


def only_asks(part: Part) -> bool:
    """Return whether a command of a formatter or checker only asks for its version, help or the like."""
    return not _ASKS.isdisjoint(part.words)


def reads_tree(part: Part) -> bool:
    """Return whether a command reads everything below the directories that it names, or below its working directory."""
    if not part.words:
        return False
    name, rest = _split(part)
    if name == "git":
        return False
    return (
        name in _UPLOADS
        or name in READS_TREES
        or is_of_sources(part)
        or not _TAKES_TREE.get(name, frozenset()).isdisjoint(rest[:4])
        or (name in _INLINE and any(map(_WALKS.search, rest)))
        or _is_recursive(name, rest)
    )


def _split(part: Part) -> tuple[str, tuple[str, ...]]:
    """Return the program's name without its directory, and the arguments."""
    return part.words[0].rpartition("/")[2] if part.words else "", part.words[1:]


def _runs_module(name: str, rest: Sequence[str]) -> bool:
    """Return whether Python runs a module that reads whole directories, also with combined flags as in `-Om
    compileall`.
    """
    if not name.startswith(("python", "pypy")):
        return False
    at = next((at for at, word in enumerate(rest[:-1]) if _MODULE_FLAG.fullmatch(word)), -1)
    return at >= 0 and rest[at + 1] in _MODULES | _FORMATS


def _is_recursive(name: str, rest: Sequence[str]) -> bool:
    letters = ("R", "r", "a") if name == "cp" else ("R", "r") if name in _BY_R else ("R",)
    return any(
        word in ("--recursive", "--archive", "--dereference-recursive")
        or (_CLUSTER.fullmatch(word) is not None and any(letter in word for letter in letters))
        for word in rest
    )
