"""What the MCP servers offer to write, resources and prompts, as the prompt needs it; read in threads.

Made by the app for the prompt of its main screen, and by plain mode.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config import Locations, Settings

if TYPE_CHECKING:
    from workbench.mcp.mentions import Offers, Prompt

_MAY_NAME_ONE = re.compile(r"@\"?[\w.-]+:")


class ServerOffers:
    """What was found last; `look` finds it anew and may be called in any thread."""

    def __init__(self, settings: Callable[[], Settings], folder: Path) -> None:
        self._settings = settings
        self._folder = folder
        self._found: Offers | None = None

    def look(self) -> Sequence[str]:
        """Look what is known now; the names of the resources."""
        from workbench.tools.trust import SERVERS

        settings = self._settings()
        if not settings.mcpServers and not (self._folder / SERVERS).is_file():
            self._found = None
            return ()
        from workbench.mcp.mentions import offers_of

        self._found = offers_of(Locations.from_environment(), settings, self._folder)
        return list(self._found.resources)

    def words_on(self, resource: str) -> str:
        """A few words on a resource."""
        return self._found.resources.get(resource, "") if self._found else ""

    @property
    def prompts(self) -> Sequence[Prompt]:
        """The prompts that were found."""
        return list(self._found.prompts.values()) if self._found else ()

    def prompt(self, name: str) -> Prompt | None:
        """The prompt that is written `server:name`."""
        return self._found.prompts.get(name) if self._found else None

    def is_resource(self, text: str) -> Callable[[str], bool]:
        """What tells whether a mention in this text names a resource; looked up now where it may matter."""
        if self._found is None and _MAY_NAME_ONE.search(text):
            self.look()
        found = self._found
        return found.is_resource if found is not None else lambda written: False
