"""Which of a session's tools the model is shown: all of them, or, where there are many, the first ones and those it
asked for. The agent asks it before each model call; `find_tools` puts tools in.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping

from workbench.tools.registry import list_registered_tools
from workbench.tools.tool import ToolDefinition

FINDER = "find_tools"
MOST = 40
"""Tools that are shown before others have to be asked for, the finder among them."""


class Offer:
    """The tools of one session and those of them that were asked for; may be used from any thread."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._tools: Mapping[str, ToolDefinition] = {}
        self._asked: dict[str, None] = {}
        self._lock = threading.Lock()

    def use(self, tools: Mapping[str, ToolDefinition]) -> None:
        """Choose among these from now on; what is put into them or taken out later counts too."""
        self._tools = tools

    def ask_for(self, names: Iterable[str]) -> None:
        """Show these too, from the next model call on."""
        with self._lock:
            self._asked |= dict.fromkeys(names)

    @property
    def shown(self) -> list[str]:
        """The names of the tools that the model gets: the built-in ones first, at the end what it asked for."""
        names = [name for name in list(self._tools) if name != FINDER]
        if len(names) <= self.most:
            return names
        built_in = set(list_registered_tools())
        first = sorted(names, key=lambda name: name not in built_in)
        room = max(self.most - 1, sum(name in built_in for name in names))
        chosen = dict.fromkeys([*first[:room], FINDER])
        with self._lock:
            return [*chosen, *(name for name in self._asked if name in self._tools and name not in chosen)]

    @property
    def hidden(self) -> dict[str, ToolDefinition]:
        """The tools that have to be asked for."""
        shown = set(self.shown)
        return {name: tool for name, tool in list(self._tools.items()) if name not in shown and name != FINDER}

    @property
    def told(self) -> str:
        """What there is beside the tools that are shown, in a few words: how many, and of which services."""
        count = Counter(str(getattr(tool, "server", "") or "others") for tool in self.hidden.values())
        return ", ".join(f"{number} of {name}" for name, number in count.most_common(12))


def offer_of(tools: Mapping[str, ToolDefinition]) -> Offer | None:
    """The choice that goes with these tools; None where all of them are shown."""
    offer = getattr(tools.get(FINDER), "offer", None)
    if not isinstance(offer, Offer):
        return None
    offer.use(tools)
    return offer
