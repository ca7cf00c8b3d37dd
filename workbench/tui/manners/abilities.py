"""What the terminal understands beyond text, told by its environment; nothing is asked of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from workbench.config.terminal import Auto, TerminalSettings

_NO_TITLE: Final = ("dumb", "linux", "vt", "ansi", "cons", "emacs", "eterm", "unknown")
_PROGRESS: Final = frozenset({"ghostty", "WezTerm", "mintty"})
_NOTICE_9: Final = frozenset({"iTerm.app", "WezTerm", "ghostty"})
_NOTICE_777: Final = ("foot", "rxvt")


@dataclass(frozen=True)
class Abilities:
    """Which of our sequences are sent; `notice` is the number of the one for the desktop, or nothing."""

    title: bool = False
    progress: bool = False
    notice: Literal["", "9", "777"] = ""


def abilities(wanted: TerminalSettings, env: Mapping[str, str]) -> Abilities:
    """What is sent: as the person said, else what this terminal is known for."""
    program = env.get("TERM_PROGRAM", "")
    is_inside = "TMUX" in env or "STY" in env or env.get("TERM", "").startswith(("screen", "tmux"))
    title = not env.get("TERM", "dumb").startswith(_NO_TITLE)
    progress = program in _PROGRESS or "WT_SESSION" in env or env.get("ConEmuANSI") == "ON"
    return Abilities(
        title=_said(wanted.title, title),
        progress=_said(wanted.progress, progress and not is_inside),
        notice=_notice(wanted.notice, env, is_inside),
    )


def _notice(wanted: Auto, env: Mapping[str, str], is_inside: bool) -> Literal["", "9", "777"]:
    if wanted is False:
        return ""
    term = env.get("TERM", "")
    if term.startswith(_NOTICE_777) or "VTE_VERSION" in env:
        return "" if is_inside and wanted == "auto" else "777"
    known = env.get("TERM_PROGRAM", "") in _NOTICE_9 or term.startswith("xterm-kitty")
    return "9" if wanted is True or (known and not is_inside) else ""


def _said(wanted: Auto, known: bool) -> bool:
    return known if wanted == "auto" else wanted
