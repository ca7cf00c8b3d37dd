"""The directories that the user trusts, as rows: shown by the Trusted directories screen and `ohw trust`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations
from workbench.text import counted
from workbench.tools.hook_files import CLAUDE_HOOKS, HOOKS
from workbench.tools.trust import AGENTS, COMMANDS, RULES, SERVERS, TOOLS, Standing, agreements, brought

_STANDINGS: Final[dict[Standing, str]] = {
    "trusted": "trusted",
    "nothing yet": "contains nothing yet; anything added is asked about",
    "changed": "changed since; asked about when you open it",
    "missing": "the directory is gone",
    "not there yet": "not there yet; trusted as it is found, because your settings name it",
    "revoked": "revoked; still named in your settings",
    "not in settings": "not named in your settings; asked about when you open it",
}
_IMAGE: Final = "what the image of the container is built from"
_BY: Final = {"user": "you", "settings": "your settings"}


@dataclass(frozen=True)
class TrustRow:
    """One trusted directory: the state of its trust, what its files do, and who agreed when (ISO 8601, or empty)."""

    path: str
    standing: Standing
    brings: tuple[str, ...]
    by: str
    at: str

    @property
    def is_used(self) -> bool:
        """Whether files of the directory are used now."""
        return self.standing == "trusted"

    @property
    def status(self) -> str:
        """The state of the trust, as text for the user."""
        return _STANDINGS[self.standing]

    @property
    def about(self) -> str:
        """The contents of the directory, who agreed and when, in one line."""
        brings = ", ".join(self.brings) or "no files"
        if self.standing == "not there yet":
            return f"{brings} · named in your settings"
        since = f" on {self.at[:10]}" if self.at else ", or by you in an earlier version"
        return f"{brings} · {'revoked' if self.standing == 'revoked' else 'agreed'} by {self.by}{since}"


def trust_rows(locations: Locations, named: Iterable[str]) -> list[TrustRow]:
    """Return a row for each directory that the user trusted or that the settings name, ordered by path."""
    return [
        TrustRow(
            entry.path,
            standing,
            (*_brings(Path(entry.path)), *([_IMAGE] if entry.image else [])),
            _BY[entry.by],
            entry.at,
        )
        for entry, standing in agreements(locations, named)
    ]


def _brings(directory: Path) -> tuple[str, ...]:
    names = [path.relative_to(directory).as_posix() for path in brought(directory)]

    def count(*directories: str) -> int:
        return sum(name.startswith(tuple(f"{each}/" for each in directories)) for name in names)

    tools, agents, commands = count(TOOLS), count(*AGENTS), count(*COMMANDS)
    parts = (
        f"{counted(tools, 'file')} of tools" if tools else "",
        *(what for name, what in ((RULES, "rules"), (SERVERS, "MCP servers")) if name in names),
        "hooks" if {HOOKS, *CLAUDE_HOOKS}.intersection(names) else "",
        counted(agents, "sub-agent") if agents else "",
        counted(commands, "command") if commands else "",
    )
    return tuple(part for part in parts if part)
