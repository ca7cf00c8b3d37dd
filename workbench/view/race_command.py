"""What follows `/race`: options as those of `ohw race`, and the prompt; and the words of the program that runs it."""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from workbench.batch.race import MODE
from workbench.config.modes import MODES
from workbench.config.setting_kinds import declared
from workbench.config.settings import Settings
from workbench.errors import UsageError

STOP: Final = "--stop"
"""The option that ends the race that runs."""
RESUME: Final = "--resume"
"""The option that continues the last race that was not completed."""
_OF_RACE: Final = ("attempts", "check", "max-cost", "max-parallel", "minutes", "mode", "models", "setup", "wait")
"""The options that a user may give in the prompt; each has a value."""
_NOT_PASSED: Final = frozenset({"api_key", "max_cost", "mode", "model"})
"""The settings from flags of this session that do not apply to a race."""


class RaceCommand(Struct, frozen=True):
    """A race to start; `options` are words for the command line."""

    prompt: str
    options: tuple[str, ...] = ()

    @property
    def mode(self) -> str:
        """The name of the mode of the attempts, as the interface shows it."""
        chosen = [each.removeprefix("--mode=") for each in self.options if each.startswith("--mode=")]
        name = chosen[-1] if chosen else MODE
        return next((mode.label for each, mode in MODES.items() if each == name), name)


def parse_race(argument: str) -> RaceCommand:
    """Return the options before the prompt, whose values may be quoted as in a shell, and the prompt as it is.

    Raises UsageError.
    """
    options: list[str] = []
    rest = argument.strip()
    while rest.startswith("--"):
        word, rest = _first_word(rest)
        if word == "--":
            break
        name, equals, value = word.removeprefix("--").partition("=")
        if name not in _OF_RACE:
            raise UsageError(f"/race has no option --{name}; it has {', '.join(f'--{each}' for each in _OF_RACE)}")
        if not equals:
            value, rest = _first_word(rest)
        options.append(f"--{name}={value}")
    if not rest:
        raise UsageError("/race needs a prompt after its options")
    return RaceCommand(rest, tuple(options))


def _first_word(text: str) -> tuple[str, str]:
    """Return the first word of a text, without its quotes, and the rest. Raises UsageError."""
    stream = io.StringIO(text)
    lexer = shlex.shlex(stream, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        word = lexer.get_token()
    except ValueError:
        raise UsageError("a quotation mark in the options of /race is not closed") from None
    if word is None:
        raise UsageError("the last option of /race has no value")
    return word, stream.read().lstrip()


def race_words(command: RaceCommand, settings: Settings, model: str, workspace: str) -> list[str]:
    """Return the arguments of `ohw` for a race that is followed by the program that starts it.

    `model` is the one to use if the options name none.
    """
    own = [] if any(each.startswith("--models=") for each in command.options) else [f"--models={model}"]
    return [*_fixed(settings, workspace), *own, *command.options, "--", command.prompt]


def resume_words(name: str, settings: Settings, workspace: str) -> list[str]:
    """Return the arguments of `ohw` that continue a race, which is followed by the program that starts it."""
    return [*_fixed(settings, workspace), f"{RESUME}={name}"]


def _fixed(settings: Settings, workspace: str) -> list[str]:
    # The key and the URL of this program are for its own model.
    meant = [f"--model={settings.model}"] if settings.model else []
    return ["race", "--json", "--until-eof", f"--workspace={workspace}", *_flags(settings), *meant]


def _flags(settings: Settings) -> Iterator[str]:
    """Yield the flags with which this program was started, as far as they concern a race."""
    for name, each in declared(Settings).items():
        value = getattr(settings, name)
        if name in settings.from_flags and name not in _NOT_PASSED and each.flag and value is not None:
            yield f"{each.flag}={each.kind.flag_text(value)}"
