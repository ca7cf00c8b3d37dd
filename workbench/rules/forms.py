"""A command in the forms in which `ask` and `deny` rules are held against it, however it is written; for `matching`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from workbench.risk.paths import words

UNKNOWN: Final = "\0"
"""Stands in a word for what only the shell will know."""
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
"""Programs that are told what to do by a word behind flags of their own: those flags that take a value."""


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
"""Verbs that do what another verb does, by program."""
_DOES_TOO: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "git": {"commit": words("merge pull cherry-pick revert am rebase stash notes subtree commit-tree fast-import")},
    "npm": {
        "publish": words("version"),
        "run": words("start test stop restart"),
        "install": words("ci install-test it"),
    },
}
"""Verbs that, among other things, do what the named verb does."""
_KINDS: Final = words("container image volume network system builder")
"""Words of docker that may stand before a verb or be left out."""
_SHORTENED: Final = frozenset({"npm", "pnpm", "hg", "svn", "ip", "btrfs", "nmcli"})
"""Programs whose verbs may be cut short."""
_GLOB: Final = re.compile(r"[*?\[]")


def plain_forms(command: Sequence[str], program: str = "") -> Iterator[Sequence[str]]:
    """The words as they stand, without the folder of the program, without the flags before what it shall do, and as
    other words for the same; `program` is where a link in the first word leads.
    """
    if not command:
        return
    first = command[0].lstrip("\\")
    name = first.rpartition("/")[2]
    rest = command[1:]
    for one in dict.fromkeys((first, name, name.casefold(), *((program,) if program else ()))):
        yield [one, *rest]
        yield from _by_verb(one.rpartition("/")[2].casefold(), rest)


def _by_verb(name: str, rest: Sequence[str]) -> Iterator[Sequence[str]]:
    """`git-push x` and `hub push x` are `git push x`, and so on."""
    if name.startswith("git-") and len(name) > 4:
        name, rest = "git", [name[4:], *rest]
        yield [name, *rest]
    elif name == "hub":
        name = "git"
        yield [name, *rest]
    bare = _from_verb(name, rest)
    if len(bare) != len(rest):
        yield [name, *bare]
    if bare and bare[0] != bare[0].casefold():
        yield [name, bare[0].casefold(), *bare[1:]]
    if name in _DOCKERS and len(bare) > 1 and bare[0] in _KINDS:
        yield [name, *bare[1:]]
    for length in (1, 2):
        same = _SAME.get(name, {}).get(" ".join(bare[:length]))
        if same:
            yield [name, same, *bare[length:]]


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
    """Whether a command could be what the pattern names, for all that is known of it before it runs."""
    if not command or UNKNOWN in command[0]:
        return bool(command)
    wanted_program, *then = pattern.split()
    name = (program or command[0].rpartition("/")[2]).casefold()
    if not _may_be(name, wanted_program.casefold()):
        return False
    makes_name = name == "git" and any("alias." in word.casefold() for word in command[1:])
    if makes_name or _GLOB.search(name):  # a pattern of files may become several words
        return True
    return _may_go_on(name, then, command)


def _may_go_on(name: str, then: Sequence[str], command: Sequence[str]) -> bool:
    """Whether the words behind the program's name may be the pattern's; the first that differs tells."""
    for wanted, word in zip(then, _from_verb(name, command[1:]), strict=False):
        if wanted != word and word in _DOES_TOO.get(name, {}).get(wanted, ()):
            return True
        if wanted != word:
            short = name in _SHORTENED and len(word) > 1 and wanted.startswith(word)
            return "*" not in wanted and (short or _may_be(word, wanted))
    return False


def _may_be(word: str, wanted: str) -> bool:
    """Whether a word, which may hold what is not known or a pattern of files, may become the one that is wanted."""
    if word == wanted or UNKNOWN in word or ("{" in word and "," in word):
        return True
    return bool(_GLOB.search(word)) and fnmatchcase(wanted, word)
