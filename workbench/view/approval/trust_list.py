"""The directories that the user trusts, as rows: shown by the Trusted directories screen and `ohw trust`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from workbench.config.locations import Locations
from workbench.text import counted
from workbench.tools.trust import AGENTS, RULES, SERVERS, TOOLS, Standing, agreements, brought

_STANDINGS: Final[dict[Standing, str]] = {
    "trusted": "trusted",
    "nothing yet": "brings nothing; anything added later is asked about",
    "changed": "changed since; asked about when you open it",
    "missing": "the directory is gone",
    "revoked": "revoked; still named in your settings",
    "not in settings": "not named in your settings; asked about when you open it",
}
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
        """The state of the trust in words."""
        return _STANDINGS[self.standing]

    @property
    def about(self) -> str:
        """What the directory brings, who agreed and when, in one line."""
        since = f" on {self.at[:10]}" if self.at else ", or by you in an earlier version"
        return f"{', '.join(self.brings) or 'no files'} · agreed by {self.by}{since}"


def trust_rows(locations: Locations, named: Iterable[str]) -> list[TrustRow]:
    """Return a row for each directory that the user, or the settings that name it, agreed to; by path."""
    return [
        TrustRow(entry.path, standing, _brings(Path(entry.path)), _BY[entry.by], entry.at)
        for entry, standing in agreements(locations, named)
    ]


def _brings(directory: Path) -> tuple[str, ...]:
    kinds = Counter(path.relative_to(directory).as_posix() for path in brought(directory))
    tools = sum(name.startswith(TOOLS) for name in kinds)
    agents = sum(name.startswith(tuple(f"{agent_directory}/" for agent_directory in AGENTS)) for name in kinds)
    parts = [f"{counted(tools, 'file')} of tools"] if tools else []
    parts += [what for name, what in ((RULES, "rules"), (SERVERS, "MCP servers")) if name in kinds]
    return (*parts, counted(agents, "sub-agent")) if agents else tuple(parts)
