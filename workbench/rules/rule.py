"""A rule, and its one-line notation in logs, questions and on screen."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from workbench.errors import UsageError
from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import words
from workbench.rules.rule_text import rule_text
from workbench.suggest import nearest
from workbench.tools.execute_bash import NAME as SHELL

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Source: TypeAlias = Literal["person", "folder", "session"]
VERDICTS: Final = ("allow", "ask", "deny")
_HOW = "write VERDICT [TOOL] [in PATH] [$ COMMAND], for example: allow $ pytest -q"
_CONTENT: Final = lazy_pattern(r"[0-9a-f]{32}")


class RuleError(UsageError):
    """The rule is invalid; the message says what is wrong and how to write it."""


@dataclass(frozen=True)
class Rule:
    """A verdict for matching actions; an empty field matches everything. `number` is its position in its file, from
    1.
    """

    verdict: Verdict
    tool: str = ""
    """The name of a tool, or a pattern in which `*` matches any characters."""
    command: str = ""
    """A pattern for one command of a command line: `*` matches anything, `\\*` a literal star."""
    path: str = ""
    """A pattern for a path: `*` matches within a name, `**` across directories; relative patterns start at the
    workspace.
    """
    folder: str = ""
    """The directory in which the rule applies; empty means everywhere."""
    content: str = ""
    """The first 32 digits of the SHA-256 of the script that the command runs; with other content, the rule does not
    match.
    """
    reason: str = ""
    """Why, for the user and the model."""
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()
    source: Source = field(default="session", compare=False)
    number: int = field(default=0, compare=False)

    @property
    def text(self) -> str:
        """The rule in the notation of `parse_rule`, without `folder`."""
        tool = "" if self.command and self.tool == SHELL else self.tool
        return rule_text(self.verdict, tool=tool, path=self.path, content=self.content, command=self.command)


def parse_rule(text: str, source: Source = "session") -> Rule:
    """Parse a one-line rule, `VERDICT [TOOL] [in PATH] [with CONTENT] [$ COMMAND]`. Raises RuleError."""
    front, dollar, command = f"{text.strip()} ".partition(" $ ")
    if dollar and not command.strip():
        raise RuleError(f"there is no command after the $; {_HOW}")
    try:
        words = shlex.split(front)
    except ValueError as error:
        raise RuleError(f"a quote is not closed in {front.strip()!r}; {_HOW}") from error
    verdict, rest = (words[0] if words else ""), words[1:]
    if verdict not in VERDICTS:
        raise RuleError(f"a rule starts with allow, ask or deny, not with {verdict!r}{near(verdict, VERDICTS)}; {_HOW}")
    content = rest.pop() if dollar and rest[-2:-1] == ["with"] and is_content(rest[-1]) else ""
    rest = rest[:-1] if content else rest
    tool = rest.pop(0) if rest and rest[0] != "in" else ""
    path = rest[1] if len(rest) == 2 and rest[0] == "in" else ""
    if rest and not path:
        raise RuleError(f"{' '.join(rest)!r} is not understood; {_HOW}")
    if not (tool or path or command.strip()):
        raise RuleError(f"a rule names a tool, a path or a command; {_HOW}")
    return Rule(
        cast(Verdict, verdict), tool or (SHELL if dollar else ""), command.strip(), path, content=content, source=source
    )


def is_content(text: str) -> bool:
    """Return whether the text has the form of the hash in `Rule.content`."""
    return bool(_CONTENT.fullmatch(text))


def near(name: str, names: Iterable[str]) -> str:
    """Return a hint with the most similar name; empty if no name is similar."""
    result = nearest(name, names, 0.5)
    return f" (did you mean {result!r}?)" if result else ""


_LONG: Final = words(
    "output outfile out-file output-file output-dir output-directory outdir out-dir out target-dir dist-dir log-file "
    "logfile report-log report-file junitxml junit-xml html-report xml-report txt-report cobertura-xml-report "
    "linecount-report any-exprs-report lineprecision-report cache-dir cache-location basetemp cov-report dump export "
    "record-file trace-file dump-header cookie-jar save-to destination dest "
    "config config-file rcfile config-path configfile conf settings settings-file env-file init-file init-script "
    "preprocessor rulesdir plugin plugins resolve-plugins-relative-to parser require import loader import-map preload "
    "experimental-loader script-shell shell prefix dir cwd directory chdir rootdir confcutdir override-ini pdbcls "
    "import-mode python-executable install-types working-directory "
    "exec exec-batch exec-path toolexec vettool modfile overlay eval command pre hostname-bin compress-program "
    "use-compress-program ext-diff textconv open-files-in-pager upload-pack receive-pack rsh rsync-path to-command "
    "checkpoint-action wrapper specs fplugin load load-path global-setup setup-files test-environment runner reporters "
    "transform pager editor use-askpass kubeconfig manifest-path state var-file post-command "
    "with with-editable with-requirements index index-url default-index extra-index-url find-links registry git "
    "no-index files-from files0-from pathspec-from-file argsfile args-file response-file template unit-test-command"
)
"""Long options that write, run or load something in most programs that have them, without the dashes."""
_OF_PROGRAM: Final[Mapping[str, frozenset[str]]] = {
    "pytest": words("p c o debug log-cli-file"),
    "py.test": words("p c o debug"),
    "sort": words("o T temporary-directory"),
    "git": words("O o"),
    "ruff": words("o"),
    "eslint": words("c o f format"),
    "go": words("o i pkgdir"),
    "make": words("f C I E file makefile include-dir"),
    "gmake": words("f C I E file makefile include-dir"),
    "cmake": words("P D C G T"),
    "ninja": words("f C"),
    **dict.fromkeys(words("gcc g++ cc c++ clang clang++ ld rustc javac"), words("o B C")),
    "jest": words("c"),
    "tsc": words("p b"),
    "black": words("c code"),
    "docker": words("f v o mount volume"),
    "cargo": words("Z"),
    "tar": words("I F C T"),
    "curl": words("o O K D c"),
    "wget": words("O o a P i e"),
    "rsync": words("e T"),
    "kubectl": words("f raw"),
    "npm": words("C"),
    "pnpm": words("C"),
    "node": words("r"),
    "tox": words("c"),
    "uv": words("p"),
    "pylint": words("init-hook"),
}
"""Options of particular programs: single letters, and names that are harmless in other programs."""
_ONE_DASH: Final = words("go terraform tofu packer java javac find gcc g++ cc clang clang++")
"""Programs whose long options start with one dash."""
_AT_IS_A_NAME: Final = words("npm pnpm yarn bun npx git gh glab hg jj")
_SHORTEST = 3
_MOST_AHEAD = 4
_SETTING: Final = lazy_pattern(r"\w+[?:+]?=")


def slips_by(pattern: str, command: Sequence[str]) -> str:
    """Return the first word of a command that writes, runs or loads something and is not spelled out in the pattern.

    Returns an empty string if there is none.
    """
    # A runner such as `npx` or `uv run` precedes the program whose options these are.
    own: frozenset[str] = frozenset().union(
        *(_OF_PROGRAM.get(word.rpartition("/")[2], ()) for word in command[:_MOST_AHEAD])
    )
    spelled = Counter(word.partition("=")[0] for word in pattern.split())
    for word in command[1:]:
        flag = word.partition("=")[0]
        if spelled[flag] > 0:
            spelled[flag] -= 1
        elif _reaches_further(command[0].rpartition("/")[2], word, flag, own):
            return word
    return ""


def _reaches_further(name: str, word: str, flag: str, own: frozenset[str]) -> bool:
    if is_list_of_arguments(name, word):
        return True
    if not word.startswith("-"):
        return name in {"make", "gmake"} and bool(_SETTING.match(word))
    return any(_is_listed(option, own) for option in _options(name, flag))


def is_list_of_arguments(program: str, word: str) -> bool:
    """Return whether a word is `@FILE`, a file with more arguments, as pytest, compilers and archivers support."""
    return len(word) > 1 and word[0] == "@" and program not in _AT_IS_A_NAME


def _options(name: str, flag: str) -> Iterator[str]:
    """Yield the option names in a flag: its long name, each of its letters, or both for programs whose long options
    have one dash.
    """
    if flag.startswith("--") or name in _ONE_DASH:
        yield flag.lstrip("-")
    if not flag.startswith("--"):
        yield from flag[1:]


def _is_listed(option: str, own: frozenset[str]) -> bool:
    """Return whether an option is listed, also abbreviated or in camel case (`--outp`, `--outDir`)."""
    if option in own:
        return True
    plain = re.sub(r"(?<=[a-z])([A-Z])", r"-\1", option).casefold()
    return len(plain) >= _SHORTEST and any(option_name.startswith(plain) for option_name in (*_LONG, *own))
