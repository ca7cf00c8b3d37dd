"""The equivalent forms of a command, and the commands that it may expand to, for `ask` and `deny` rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import words

UNKNOWN: Final = "\0"
"""The placeholder in a word for a value that is unknown until the shell expands it."""
_BEFORE_VERB: Final[Mapping[str, frozenset[str]]] = {
    "git": words("-C -c --git-dir --work-tree --namespace --config-env --exec-path --super-prefix --attr-source"),
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun"),
        words("--prefix -C --dir --cwd -w --workspace --filter -F --userconfig --registry --cache"),
    ),
    **dict.fromkeys(("docker", "podman", "nerdctl"), words("-H --host -c --context --config -l --log-level")),
    **dict.fromkeys(
        ("kubectl", "oc", "helm"),
        words("-n --namespace --context --kubeconfig --cluster -s --server --user --kube-context"),
    ),
    **dict.fromkeys(("cargo", "go"), words("-C --manifest-path --config --color -Z")),
    **dict.fromkeys(("gh", "glab"), words("-R --repo --hostname")),
    **dict.fromkeys(("terraform", "tofu"), words("-chdir")),
    **dict.fromkeys(("aws", "gcloud", "az"), words("--profile --region --project --output --account --endpoint-url")),
    **dict.fromkeys(("uv", "poetry", "pip"), words("--directory --project -C --python --cache-dir --log")),
    **dict.fromkeys(("systemctl", "make"), words("-H --host -M --machine -C --directory -f --file -j")),
}
"""Flags with a value that may precede the verb, by program."""


_SAME: Final[Mapping[str, Mapping[str, str]]] = {
    "git": {
        **dict.fromkeys(("send-pack", "http-push", "subtree push", "lfs push", "svn dcommit", "p4 submit"), "push"),
        **dict.fromkeys(("fetch-pack", "http-fetch", "remote update"), "fetch"),
        **{"stage": "add", "commit-tree": "commit", "annotate": "blame", "checkout-index": "checkout"},
    },
    "npm": {
        **dict.fromkeys(words("i in ins inst insta instal isnt isntall add"), "install"),
        **dict.fromkeys(words("rm r un remove unlink"), "uninstall"),
        **dict.fromkeys(words("up upgrade udpate"), "update"),
        **dict.fromkeys(words("x"), "exec"),
        **dict.fromkeys(words("run-script rum urn"), "run"),
        **dict.fromkeys(words("t tst"), "test"),
    },
    "cargo": {"b": "build", "c": "check", "t": "test", "r": "run", "rm": "remove", "d": "doc"},
}
"""The equivalent verb, by program and verb."""
_DOES_TOO: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "git": {"commit": words("merge pull cherry-pick revert am rebase stash notes subtree commit-tree fast-import")},
    "npm": {
        "publish": words("version"),
        "run": words("start test stop restart"),
        "install": words("ci install-test it"),
    },
}
"""Verbs that include the effect of another verb, by program."""
_KINDS: Final = words("container image volume network system builder")
"""Docker's object types, which may precede a verb, as in `docker container rm`."""
_SHORTENED: Final = frozenset({"npm", "pnpm", "hg", "svn", "ip", "btrfs", "nmcli"})
"""Programs whose verbs may be abbreviated."""
_GLOB: Final = lazy_pattern(r"[*?\[]")


def plain_forms(command: Sequence[str], program: str = "") -> Iterator[Sequence[str]]:
    """Yield equivalent forms of a command: as written, without directory or flags before the verb, with synonyms.

    `program` is the target of a symbolic link in the first word.
    """
    if not command:
        return
    first = command[0].lstrip("\\").removesuffix(".exe")
    name = first.rpartition("/")[2]
    rest = command[1:]
    for one in dict.fromkeys((first, name, name.casefold(), *((program,) if program else ()), *_other_names(name))):
        yield [one, *rest]
        yield from _by_verb(one.rpartition("/")[2].casefold(), rest)


def _other_names(name: str) -> Iterator[str]:
    """Yield other names of a program: without its version, without the `g` of GNU tools (as on macOS), and aliases."""
    plain = _VERSION.sub("", name)
    if plain in _GNU:
        yield plain[1:]
    yield plain
    yield from (f"{plain}3",) if plain in _PYTHONS else ()
    yield from (_ALSO_NAMED[plain],) if plain in _ALSO_NAMED else ()


_VERSION: Final = lazy_pattern(r"(?<=[a-z])[-.]?\d[\d.]*\Z")
_GNU: Final = frozenset(
    f"g{name}"
    for name in words(
        "awk base64 cat chgrp chmod chown cp cut date dd find grep head install kill ln ls make mkdir mv readlink rm "
        "rmdir sed shred sort split stat stty tac tail tar tee timeout touch tr truncate unlink wc xargs"
    )
)
_PYTHONS: Final = words("python pip pypy")
"""Programs that are also called by their name followed by 3."""
_ALSO_NAMED: Final = {"nodejs": "node", "mawk": "awk", "nawk": "awk", "bsdtar": "tar", "py": "python"}


def _by_verb(name: str, rest: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the command with a normalized program and verb: `git-push x` and `hub push x` become `git push x`."""
    if name.startswith("git-remote-") or any("git-receive-pack" in word for word in rest):
        yield ["git", "push"]
    if name.startswith("git-") and len(name) > 4:
        name, rest = "git", [name[4:], *rest]
        yield [name, *rest]
    elif name in ("hub", "lab"):
        name = "git"
        yield [name, *rest]
    bare = _from_verb(name, rest)
    if len(bare) != len(rest):
        yield [name, *bare]
    yield from ([name, *form] for form in (*_operands_first(name, rest), *_from_target(name, rest)))
    if bare and bare[0] != bare[0].casefold():
        yield [name, bare[0].casefold(), *bare[1:]]
    yield from _by_verb_alone(name, bare)


def _from_target(name: str, rest: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the arguments from each target on, for build programs that take several targets in any order."""
    for at, word in enumerate(rest) if name in _BUILDERS else ():
        if not word.startswith("-") and "=" not in word:
            yield rest[at:]


_BUILDERS: Final = words(
    "make gmake bmake just task rake invoke inv gradle gradlew mvn mvnw ant ninja doit mage gulp grunt"
)
"""Programs whose operands are targets, in any order."""
_MOST_OPERANDS: Final = 3


def _operands_first(name: str, rest: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the arguments without the flags between the first operands: `s3 --debug rm x` becomes `s3 rm x`.

    If it is unknown which flags of a program take a value, yield one form as if all do, and one as if none does.
    """
    takes = _BEFORE_VERB.get(name)
    for taking in (takes,) if takes is not None else (_NONE, None):
        operands: list[str] = []
        at = 0
        while at < len(rest) and len(operands) < _MOST_OPERANDS:
            word, is_flag = rest[at], rest[at].startswith(("-", "+"))
            operands += [] if is_flag else [word]
            at += 2 if is_flag and "=" not in word and (taking is None or word in taking) else 1
        if operands and operands != rest[: len(operands)]:
            yield [*operands, *rest[at:]]


def _by_verb_alone(name: str, bare: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the command with synonyms of its verb; `bare` is the arguments from the verb on."""
    if (name in _HOSTS and _pushes(bare)) or not _PUSHED_BY.get(name, _NONE).isdisjoint(bare[:1]):
        yield ["git", "push"]
    if name in _DOCKERS and len(bare) > 1 and bare[0] in _KINDS:
        yield [name, *bare[1:]]
    for length in (1, 2):
        same = _SAME.get(name, {}).get(" ".join(bare[:length]))
        if same:
            yield [name, same, *bare[length:]]


_HOSTS: Final = frozenset({"gh", "glab"})
_NONE: Final[frozenset[str]] = frozenset()
_PUSHED_BY: Final[Mapping[str, frozenset[str]]] = {
    "sl": words("push"),
    "gt": words("submit s ss land merge"),
    "arc": words("diff land"),
    "spr": words("update diff land"),
    "ghstack": words("submit land"),
    "got": words("send"),
    "dulwich": words("push"),
}
"""The verbs with which other programs push a git repository, by program."""


def _pushes(bare: Sequence[str]) -> bool:
    """Return whether a command of `gh` or `glab` pushes: `pr create` does unless `--head` names a branch that is
    already pushed.
    """
    makes_request = list(bare[:2]) in (["pr", "create"], ["pr", "new"])
    has_head = any(word.startswith(("-H", "--head")) for word in bare)
    return list(bare[:2]) == ["repo", "sync"] or "--push" in bare or (makes_request and not has_head)


_DOCKERS: Final = frozenset({"docker", "podman", "nerdctl"})


def _from_verb(name: str, rest: Sequence[str]) -> Sequence[str]:
    taking = _BEFORE_VERB.get(name)
    if taking is None:
        return rest
    at = 0
    while at < len(rest) and rest[at].startswith(("-", "+")):
        at += 2 if rest[at] in taking else 1
    return rest[at:]


def hides_from(pattern: str, command: Sequence[str], program: str = "") -> bool:
    """Return whether a command may match the pattern once unknown values, aliases or globs are expanded.

    `program` is the target of a symbolic link in the first word.
    """
    if not command or UNKNOWN in command[0]:
        return bool(command)
    expected_program, *then = pattern.split()
    name = (program or command[0].rpartition("/")[2]).casefold()
    if not _may_be(name, expected_program.casefold()):
        return False
    makes_name = name == "git" and any("alias." in word.casefold() for word in command[1:])
    if makes_name or _GLOB.search(name):  # a glob may expand to several words
        return True
    return _may_go_on(name, then, command)


def _may_go_on(name: str, then: Sequence[str], command: Sequence[str]) -> bool:
    """Return whether the words after the program's name may match the pattern's; the first difference decides.

    `then` is the rest of the pattern.
    """
    for expected, word in zip(then, _from_verb(name, command[1:]), strict=False):
        if expected != word and word in _DOES_TOO.get(name, {}).get(expected, ()):
            return True
        if expected != word:
            short = name in _SHORTENED and len(word) > 1 and expected.startswith(word)
            return "*" not in expected and (short or _may_be(word, expected))
    return False


def _may_be(word: str, expected: str) -> bool:
    """Return whether a word, which may contain unknown values or globs, may expand to the expected word."""
    if word == expected or UNKNOWN in word or ("{" in word and "," in word):
        return True
    return bool(_GLOB.search(word)) and fnmatchcase(expected, word)
