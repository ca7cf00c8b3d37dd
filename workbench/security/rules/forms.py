"""A command in the forms in which `ask` and `deny` rules are held against it, however it is written; for `matching`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from workbench.security.protected import words

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
_NEW_NAMES: Final = re.compile(r"alias\.", re.IGNORECASE)


def plain_forms(command: Sequence[str]) -> Iterator[Sequence[str]]:
    """The words as they stand, without the folder of the program, and without the flags before what it shall do."""
    if not command:
        return
    first = command[0].lstrip("\\")
    name = first.rpartition("/")[2]
    rest = command[1:]
    for one in dict.fromkeys((first, name, name.casefold())):
        yield [one, *rest]
    bare = _from_verb(name.casefold(), rest)
    if len(bare) != len(rest):
        yield [name.casefold(), *bare]


def _from_verb(name: str, rest: Sequence[str]) -> Sequence[str]:
    taking = _BEFORE_VERB.get(name)
    if taking is None:
        return rest
    at = 0
    while at < len(rest) and rest[at].startswith(("-", "+")):
        at += 2 if rest[at] in taking else 1
    return rest[at:]


def hides_from(pattern: str, command: Sequence[str]) -> bool:
    """Whether a command could be what the pattern names, for all that is known of it before it runs."""
    if not command:
        return False
    if UNKNOWN in command[0]:
        return True
    program, *then = pattern.split()
    name = command[0].rpartition("/")[2].casefold()
    if name != program.casefold() or not then:
        return False
    if name == "git" and any(_NEW_NAMES.match(word) or "alias." in word.casefold() for word in command[1:]):
        return True
    for wanted, word in zip(then, _from_verb(name, command[1:]), strict=False):
        if UNKNOWN in word or wanted != word:
            return UNKNOWN in word and "*" not in wanted
    return False
