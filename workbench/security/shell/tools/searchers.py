"""Programs that look for files or for text in them."""

from __future__ import annotations

import re
from dataclasses import replace

from workbench.security.shell.call import Call, Spec, flags, uses
from workbench.security.shell.tools.found import Found, find, runs_on_found
from workbench.security.shell.tools.rule import Rule, named, words
from workbench.security.shell.words import literal

_GREP = Spec(
    operands="read",
    skip=1,
    values=words(
        "-e -m -A -B -C --regexp --max-count --after-context --before-context --context --include --exclude "
        "--exclude-dir --color --label -d -D"
    ),
    paths=uses("read", "-f --file --exclude-from"),
    unskip=words("-e -f --regexp --file"),
)
_RG = Spec(
    operands="deep",
    skip=1,
    values=words(
        "-e -g -t -T -m -A -B -C -r -j -M -E --regexp --glob --iglob --type --type-not --max-count "
        "--context --max-depth "
        "--after-context --before-context --sort --sortr --replace --threads --color --colors --encoding --type-add"
    ),
    paths=uses("read", "-f --file --ignore-file"),
    flags=flags("HIGH", "runs another program for each file", "--pre --hostname-bin"),
    unskip=words("-e -f --regexp --file --files --type-list"),
)
_SECRET = re.compile(r"token|secret|pass(?!ed|ing|es)|api_?key|credential|private|(?<![a-z])key", re.I)
_VARIABLES = ("prints the variables", "prints all variables", "prints variables", "shows or changes what was typed")
_FD_RUNS = frozenset({"-x", "-X", "--exec", "--exec-batch"})


def _grep(call: Call) -> None:
    deep = any(
        word.text.startswith("-") and not word.text.startswith("--") and set(word.text) & set("rR")
        for word in call.words
    )
    deep = deep or any(word.text in {"--recursive", "--dereference-recursive"} for word in call.words)
    _in_variables(call)
    call.apply(replace(_GREP, operands="deep") if deep else _GREP)


def _in_variables(call: Call) -> None:
    """`env | grep TOKEN` prints a secret."""
    if (
        call.piped
        and any(_SECRET.search(word.text) for word in call.words)
        and any(part.reason.startswith(_VARIABLES) for part in call.scan.parts)
    ):
        call.raise_to("HIGH", "prints a secret")


def _fd(call: Call) -> None:
    at = next((at for at, word in enumerate(call.words) if word.text in _FD_RUNS), None)
    command = call.words[at + 1 :] if at is not None else []
    call.words = call.words[:at] if at is not None else call.words
    spec = Spec(
        skip=1, values=words("-e -E -t -d -g --extension --exclude --type --max-depth --min-depth --changed-within")
    )
    call.apply(replace(spec, flags=flags("HIGH", "runs a command for each file", "--exec --exec-batch")))
    if command:
        call.raise_to("MEDIUM", "runs a command for each file")
        runs_on_found(call, Found([literal(".")]), command)


def _locate(call: Call) -> None:
    call.raise_to("MEDIUM", "looks at the names of all files")


RULES: dict[str, Rule] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep"), _grep),
    **named(_RG, "rg ag ack ugrep"),
    "find": find,
    "gfind": find,
    "fd": _fd,
    "fdfind": _fd,
    "locate": _locate,
}
