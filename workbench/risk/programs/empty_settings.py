"""Options that name `/dev/null` as the settings file, which has the same effect as having no such file."""

from __future__ import annotations

from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.paths import words
from workbench.risk.word import Word

_NOTHING: Final = "/dev/null"
_LONG: Final = (
    r"--(?:[\w-]+-)?(?:config|conf|config-?file|config-?path|rc-?file|settings|settings-file|user-?config"
    r"|global-?config|init-file|defaults-(?:extra-)?file)"
)
_OPTION: Final = lazy_pattern(_LONG)
_ATTACHED: Final = lazy_pattern(rf"{_LONG}={_NOTHING}")
_PROGRAMS: Final = {
    **dict.fromkeys(
        words(
            "pytest py.test eslint prettier stylelint jest vitest mocha babel webpack vite rollup tox golangci-lint "
            "rubocop yamllint hadolint pre-commit gradle gradlew karma cypress playwright"
        ),
        "-c",
    ),
    **dict.fromkeys(
        words(
            "mypy flake8 pylint coverage ruff black isort pyright npm pnpm yarn bun npx wget shellcheck bash "
            "clang-format markdownlint sqlfluff codespell bandit interrogate pydocstyle"
        ),
        "",
    ),
    "curl": "-K",
    **dict.fromkeys(words("mvn mvnw"), "-s"),
    **dict.fromkeys(words("vi vim nvim gvim mvim"), "-u"),
    "tmux": "-f",
}
"""Programs with options for a settings file: the short option by program, or "" if there is only a long one."""
_NO_FILE: Final = {"-u": frozenset({_NOTHING, "NONE", "NORC"})}
"""The values of a short option that mean no settings file, if there are others than `/dev/null`."""
_NO_OPTION_AS_VALUE: Final = words(
    "pytest py.test mypy flake8 pylint tox yamllint codespell bandit pre-commit isort pydocstyle"
)
"""Programs, mostly using argparse, that do not accept an option as the value of another option."""
_SWITCH: Final = lazy_pattern(r"-[qv]{1,3}|--(?:quiet|verbose|no-[\w-]+)")
"""Matches options without a value in all of these programs, except for the numbers that `codespell` takes."""


def without_empty_settings(program: str, original: list[Word]) -> list[Word]:
    """Return the words without the options that name an empty settings file, and without their values.

    An option stays if it may be the value of the word before it: in `curl -A -K /dev/null -d @x`, `-d` is an option.
    """
    short = _PROGRAMS.get(program)
    if short is None or not any(_NOTHING in word.text or word.text in _NO_FILE["-u"] for word in original):
        return original
    result: list[Word] = []
    rest = list(original)
    while rest:
        word = rest.pop(0)
        if word.text == "--":
            return [*result, word, *rest]
        if result and _may_have_value(program, result[-1]):
            result.append(word)
            continue
        following = rest[0].text if rest else ""
        names_file = _OPTION.fullmatch(word.text) and following == _NOTHING
        if names_file or (word.text == short and following in _NO_FILE.get(short, {_NOTHING})):
            rest.pop(0)
        elif not (_ATTACHED.fullmatch(word.text) or (short and word.text == f"{short}{_NOTHING}")):
            result.append(word)
    return result


def _may_have_value(program: str, word: Word) -> bool:
    """Return whether a word may be an option whose value is the next word, even if that is an option."""
    if not word.is_literal:
        return True
    if program in _NO_OPTION_AS_VALUE:
        return False
    return word.text.startswith("-") and "=" not in word.text and not _SWITCH.fullmatch(word.text)
