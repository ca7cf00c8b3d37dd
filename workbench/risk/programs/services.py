"""Rules for programs that install settings in the home directory, for mail queues, and for servers started by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from workbench.lazy_pattern import lazy_pattern
from workbench.risk.programs.cloud import or_status
from workbench.risk.programs.destructive_verbs import asks_help
from workbench.risk.programs.exposure import OPEN_PORT
from workbench.risk.programs.rule import Rule, subcommands, words
from workbench.risk.reason import LOADS_CODE, Reason, Trait
from workbench.risk.shell.call import Call, Spec

_FOR_USER: Final = Reason("changes the settings of this user, which other programs run", Trait.RUNS | Trait.UNCERTAIN)
_OPEN_SHELL: Final = Reason(OPEN_PORT, Trait.RUNS)
_CHANGES: Final = Spec("HIGH", _FOR_USER, operands="text")
_SHOWS: Final = Spec("MEDIUM", "works on the user's collection of settings", operands="text")
_NOT_DONE: Final = words("-n --no --simulate --dry-run -h --help --version")
_CHEZMOI: Final = subcommands(
    dict.fromkeys(words("apply update import purge destroy remove rm merge-all"), _CHANGES), _SHOWS
)
_YADM: Final = subcommands(
    dict.fromkeys(
        words("clone bootstrap pull checkout switch reset restore decrypt alt upgrade stash merge rebase clean push"),
        _CHANGES,
    ),
    _SHOWS,
)


def _installs_settings(call: Call) -> None:
    """Rate a program that links settings into the home directory, unless it only says what it would do."""
    is_done = _NOT_DONE.isdisjoint(word.text for word in call.words)
    call.apply(_CHANGES if is_done else _SHOWS)


def _chezmoi(call: Call) -> None:
    """Rate chezmoi by its subcommand; `init --apply` installs what it fetches."""
    applies = any(word.text in {"--apply", "-a"} for word in call.words)
    simulates = any(word.text in {"-n", "--dry-run"} for word in call.words)
    call.apply(_CHANGES) if applies and not simulates else call.apply(_SHOWS) if simulates else _CHEZMOI(call)


def _postsuper(call: Call) -> None:
    """Rate postsuper, whose -d deletes queued mail; the other options move it between queues."""
    deletes = any(word.text.startswith("-") and "d" in word.text for word in call.words)
    call.apply(Spec("HIGH" if deletes else "MEDIUM", "deletes or moves queued mail", operands="text"))


def _exim(call: Call) -> None:
    """Rate exim, which removes, changes or sends messages of its queue with options that begin with -M."""
    works = any(word.text.startswith(("-Mrm", "-Mg", "-Mar", "-Me")) for word in call.words)
    call.apply(Spec("HIGH" if works else "MEDIUM", "works on queued mail", operands="text"))


_LOADS_CODE: Final = lazy_pattern(
    r"(?i)--(?:loadmodule|plugin[-_](?:load\w*|dir)|init[-_]file|early[-_]plugin[-_]load\w*|enable-module-command|"
    r"enable-debug-command)\b|\b\w*(?:preload_libraries|library_path|_command)\s*="
)
"""Options and settings of databases that load code, or run a command."""


def _server(call: Call) -> None:
    """Rate a database or other data server: HIGH if it lets other machines in without a password."""
    strings = [word.text for word in call.words]
    call.apply(Spec("MEDIUM", "starts a server", operands="text"))
    if asks_help(call.words) or strings in (["--version"], ["-v"]):
        return
    if ("--protected-mode", "no") in pairwise(strings) or "--protected-mode=no" in strings:
        call.raise_to("HIGH", OPEN_PORT)
    if any(_LOADS_CODE.search(text) for text in strings):
        call.raise_to("HIGH", LOADS_CODE)
    binds = [strings[at + 1 :] for at, text in enumerate(strings) if text in {"--bind", "--bind_ip", "-l", "-h"}]
    if any(value in {"0.0.0.0", "*", "::", "-::*"} for values in binds for value in _values(values)):
        call.raise_to("HIGH", OPEN_PORT)


def _values(strings: list[str]) -> list[str]:
    """Return the values after an option that lists addresses, up to the next option."""
    end = next((at for at, text in enumerate(strings) if text.startswith("--")), len(strings))
    return [part for text in strings[:end] for part in text.split(",")]


RULES: dict[str, Rule] = {
    **dict.fromkeys(words("stow xstow rcup rcdn dotbot dotdrop dotter tuckr homeshick homesick"), _installs_settings),
    "chezmoi": or_status(_chezmoi),
    "yadm": or_status(_YADM),
    "postsuper": _postsuper,
    **dict.fromkeys(("exim", "exim4"), _exim),
    **dict.fromkeys(
        words("redis-server valkey-server keydb-server memcached mongod mysqld mariadbd postgres etcd"), _server
    ),
    **dict.fromkeys(words("ttyd gotty wetty"), Spec("HIGH", _OPEN_SHELL, operands="text")),
}
