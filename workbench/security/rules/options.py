"""Options by which a command that an `allow` rule's `*` takes in does more than the rule's words: writes files, runs
programs, or reads its options from elsewhere; used by `matching`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from workbench.security.protected import words

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
"""Long options that write, run or load something in most programs that have them."""
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
"""Options of single programs: letters, and names that are harmless elsewhere."""
_ONE_DASH: Final = words("go terraform tofu packer java javac find gcc g++ cc clang clang++")
"""Programs whose long options have one dash."""
_AT_IS_A_NAME: Final = words("npm pnpm yarn bun npx git gh glab hg jj")
_SHORTEST = 3
_SETTING: Final = re.compile(r"\w+[?:+]?=")


def slips_by(pattern: str, command: Sequence[str]) -> str:
    """Return the first word of a command that no literal word of the rule's pattern spells, and that writes, runs or
    loads something; empty when there is none.
    """
    name = command[0].rpartition("/")[2]
    spelled = Counter(word.partition("=")[0] for word in pattern.split())
    for word in command[1:]:
        flag = word.partition("=")[0]
        if spelled[flag] > 0:
            spelled[flag] -= 1
        elif _reaches_further(name, word, flag):
            return word
    return ""


def _reaches_further(name: str, word: str, flag: str) -> bool:
    if word.startswith("@"):
        return len(word) > 1 and name not in _AT_IS_A_NAME
    if not word.startswith("-"):
        return name in {"make", "gmake"} and bool(_SETTING.match(word))
    own = _OF_PROGRAM.get(name, frozenset())
    return any(_is_listed(option, own) for option in _options(name, flag))


def _options(name: str, flag: str) -> Iterator[str]:
    """The names of a flag: one long one, or each letter."""
    if flag.startswith("--") or name in _ONE_DASH:
        yield flag.lstrip("-")
    if not flag.startswith("--"):
        yield from flag[1:]


def _is_listed(option: str, own: frozenset[str]) -> bool:
    """Whether it is listed, also cut short or in camel case (`--outDir`, `--outp`)."""
    if option in own:
        return True
    plain = re.sub(r"(?<=[a-z])([A-Z])", r"-\1", option).casefold()
    return len(plain) >= _SHORTEST and any(known.startswith(plain) for known in (*_LONG, *own))
