"""Rules for `git clean` and `git rm`, which delete files."""

from __future__ import annotations

from itertools import takewhile
from typing import Final

from workbench.risk.paths import is_regenerable
from workbench.risk.programs.rule import flag_names, words
from workbench.risk.shell.call import Call, Spec, flags
from workbench.risk.word import literal

_REMOVES: Final = Spec(
    "MEDIUM",
    "deletes files of the repository",
    operands="delete",
    flags=flags("HIGH", "changes or deletes what is not committed", "-f --force"),
)
_FORGETS: Final = Spec("MEDIUM", "no longer keeps track of files, which stay", operands="text")


def remove(call: Call) -> None:
    """Rate `git rm`; with `--cached`, it leaves the files in place."""
    before_paths = takewhile(lambda text: text != "--", (word.text for word in call.words))
    is_index_only = "--cached" in before_paths
    call.apply(_FORGETS if is_index_only else _REMOVES)


def clean(call: Call) -> None:
    """Rate `git clean`, which deletes untracked files in the working directory or in the named directories."""
    options, operands = call.options(Spec(values=words("-e --exclude")))
    names = flag_names(options)
    if names & {"-n", "--dry-run"}:
        return
    base = call.base.text.rstrip("/") + "/" if call.base else ""
    named = [word._replace(text=f"{base}{word.text}") for word in operands] or [literal(base or ".")]
    again = bool(operands) and all(is_regenerable(word.text) for word in operands)
    where = f" in {', '.join(word.text for word in operands)}" if operands else ""
    call.raise_to("MEDIUM" if again else "HIGH", f"deletes files that git does not keep{where}")
    call.spares = "x" if "-x" in names else "X" if "-X" in names else "-"
    for word in named:
        call.takes_away(word, all_of_it=True)
