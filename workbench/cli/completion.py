"""Completion in shells: `ohw completion SHELL` prints a script that calls `ohw` for each completion.

argcomplete finds the argument at the cursor by means of the parser itself, so there is no list of options that could
become outdated, and the values may depend on the words before.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from argcomplete.completers import SuppressCompleter
from argcomplete.finders import ExclusiveCompletionFinder
from argcomplete.lexers import split_line
from argcomplete.shell_integration import shellcode

from workbench.cli.arguments import command_span, parser_of
from workbench.cli.completers import completer_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from workbench.cli.completers import Completer

_PROGRAM = "ohw"
_START = {"zsh": "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n"}
"""What is printed before the script: it defines `compdef` in zsh in case the user's own configuration does not."""


def completion(arguments: argparse.Namespace) -> int:
    """Print the completion script for a shell."""
    script = shellcode([_PROGRAM], shell=arguments.shell)
    sys.stdout.write(_START.get(arguments.shell, "") + script.strip("\n") + "\n")
    return 0


def complete() -> None:
    """Write the completions of the command line in COMP_LINE to the shell's script, then end the process."""
    *_, words, _ = split_line(os.environ["COMP_LINE"], int(os.environ["COMP_POINT"]))
    # zsh passes all commands of its line.
    program = max((index for index, word in enumerate(words) if word.rpartition("/")[2] == _PROGRAM), default=0)
    words = words[program + 1 :]
    span = command_span(words)
    command = " ".join(words[span])
    urls = [index for index, word in enumerate(words) if word.startswith("ssh://")]
    skipped = span.stop - 1 if command else max(urls, default=-1)
    finder = _Finder()
    finder.offers_options = "--" not in words
    # The number, from 1, of the last word that is no argument of the command.
    os.environ["_ARGCOMPLETE"] = str(program + skipped + 2)
    finder(parser_with_values(command), always_complete_options=False, default_completer=SuppressCompleter())


def parser_with_values(command: str) -> argparse.ArgumentParser:
    """Return the parser of a command, with a `completer` on each argument that has a value."""
    parser = parser_of(command)
    for action in parser._actions:
        if action.nargs != 0:
            action.completer = _Values(completer_for(command, action))  # type: ignore[attr-defined]
    return parser


class _Values:
    """Adapts a completer to argcomplete, and drops values and descriptions with characters that a terminal would not
    print.
    """

    def __init__(self, complete: Completer) -> None:
        self._complete = complete

    def __call__(self, prefix: str, parsed_args: argparse.Namespace, **_: Any) -> Mapping[str, str]:
        offers = self._complete(prefix, parsed_args)
        explained = offers if isinstance(offers, Mapping) else dict.fromkeys(offers, "")
        return {
            value: about if about.isprintable() else "" for value, about in explained.items() if value.isprintable()
        }


class _Finder(ExclusiveCompletionFinder):
    """Offers options after a dash, and where nothing else can be offered."""

    offers_options = True

    def collect_completions(
        self, active_parsers: list[argparse.ArgumentParser], parsed_args: argparse.Namespace, cword_prefix: str
    ) -> list[str]:
        """Return the completions of the word at the cursor."""
        if cword_prefix.startswith("-") and not self.offers_options:
            return []
        completions: Sequence[str] = super().collect_completions(active_parsers, parsed_args, cword_prefix)
        if not completions and not cword_prefix and self.offers_options:
            self.always_complete_options = "long"
            completions = super().collect_completions(active_parsers, parsed_args, cword_prefix)
        return list(completions)
