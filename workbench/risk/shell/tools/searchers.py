"""Programs that look for files or for text in them."""

from __future__ import annotations

import re

from workbench.risk.shell.call import Call
from workbench.risk.shell.tools.found import Found, find, runs_on_found
from workbench.risk.shell.tools.rule import Rule, words
from workbench.risk.shell.words import literal

_SECRET = re.compile(r"token|secret|pass(?!ed|ing|es)|api_?key|credential|private|(?<![a-z])key", re.I)
_VARIABLES = ("prints the variables", "prints all variables", "prints variables", "shows or changes what was typed")
_FD_RUNS = frozenset({"-x", "-X", "--exec", "--exec-batch"})


def _grep(call: Call) -> None:
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
    if command:
        call.raise_to("MEDIUM", "runs a command for each file")
        operands = [word for word in call.words[:at] if not word.text.startswith("-")]
        name = f"*{operands[0].text}*" if operands and operands[0].text.isidentifier() else ""
        runs_on_found(call, Found(operands[1:] or [literal(".")], name), command)


def _locate(call: Call) -> None:
    call.raise_to("MEDIUM", "looks at the names of all files")


RULES: dict[str, Rule] = {
    **dict.fromkeys(words("grep egrep fgrep zgrep ugrep rg ag ack"), _grep),
    "find": find,
    "gfind": find,
    "fd": _fd,
    "fdfind": _fd,
    "locate": _locate,
}
