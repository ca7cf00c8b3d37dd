"""Selects the tools that the model is offered, and ranks the others by the words of a query.

Rare words have more weight, and words of a name have more than those of a description.
"""

from __future__ import annotations

import math
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Protocol

from workbench.lazy_pattern import lazy_pattern
from workbench.tools.registry import list_registered_tools
from workbench.tools.tool import ToolDefinition

_WORDS = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")
_SAME = {
    **dict.fromkeys(("fetch", "read", "list", "retrieve", "show", "view"), "get"),
    **dict.fromkeys(("add", "post", "new", "make", "insert"), "create"),
    **dict.fromkeys(("remove", "drop", "destroy"), "delete"),
    **dict.fromkeys(("edit", "change", "put", "patch", "modify", "set"), "update"),
    **dict.fromkeys(("find", "query", "lookup"), "search"),
}
"""The word that replaces each synonym."""
_EMPTY = frozenset(
    ("a", "an", "the", "of", "for", "to", "in", "on", "and", "or", "with", "from", "by", "tool", "that", "this")
)
_NAME, _FIRST, _REST = 4.0, 2.0, 0.5
_LONGEST = 1_500
"""The most characters of a description that are indexed."""


class Named(Protocol):
    """Anything with a name and a description."""

    name: str
    description: str


class Index:
    """The weighted words of tools, for ranking them by a query."""

    def __init__(self, tools: Mapping[str, Named]) -> None:
        self._weights = {name: _weights(tool) for name, tool in tools.items()}
        self._count = Counter(word for weights in self._weights.values() for word in weights)

    def best(self, question: str, most: int) -> list[str]:
        """Return the names of the best matches, best first."""
        asked = {near for word in words(question) for near in self._indexed(word)}
        named = set(re.findall(r"[\w.-]+", question))
        scored = [(self._score(name, asked) + (1_000 if name in named else 0), name) for name in self._weights]
        scored = [(score, name) for score, name in scored if score > 0]
        top = max(scored, default=(0.0, ""))[0]
        fitting = sorted((-score, name) for score, name in scored if score >= top / 4)
        return [name for _, name in fitting[:most]]

    def _indexed(self, word: str) -> Sequence[str]:
        """Return the word if a tool uses it, else similar words."""
        return (word,) if word in self._count else get_close_matches(word, self._count, 2, 0.8)

    def _score(self, name: str, asked: set[str]) -> float:
        weights = self._weights[name]
        total = len(self._weights)
        return sum(
            math.log(1 + total / self._count[word]) * weights[word] / (weights[word] + 1.0)
            for word in asked
            if word in weights
        )


def _weights(tool: Named) -> dict[str, float]:
    first, _, rest = tool.description[:_LONGEST].partition("\n")
    weights: defaultdict[str, float] = defaultdict(float)
    for text, weight in ((tool.name, _NAME), (first, _FIRST), (rest, _REST)):
        for word in set(words(text)):
            weights[word] += weight
    return weights


def words(text: str) -> list[str]:
    """Return the words of a text or a name in normal form: lower case, stemmed, and without synonyms."""
    plain = (_stem(word.lower()) for word in _WORDS.findall(text))
    return [_SAME.get(word, word) for word in plain if word not in _EMPTY]


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


FINDER = "find_tools"
MOST = 40
"""The most tools, including the finder, that are offered without a search, unless more are built in."""


class Offer:
    """The selection of a session's tools that the model is offered; may be used from any thread."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._tools: Mapping[str, ToolDefinition] = {}
        self._asked: dict[str, None] = {}
        self._lock = threading.Lock()

    def set_tools(self, tools: Mapping[str, ToolDefinition]) -> None:
        """Set the tools of the session; later changes of the mapping take effect."""
        self._tools = tools

    def ask_for(self, names: Iterable[str]) -> None:
        """Offer these tools too, from the next model call on."""
        with self._lock:
            self._asked |= dict.fromkeys(names)

    @property
    def offered(self) -> list[str]:
        """The names of the offered tools: built-in ones first, those found by a search last."""
        names = [name for name in list(self._tools) if name != FINDER]
        if len(names) <= self.most:
            return names
        built_in = set(list_registered_tools())
        first = sorted(names, key=lambda name: name not in built_in)
        capacity = max(self.most - 1, sum(name in built_in for name in names))
        chosen = dict.fromkeys([*first[:capacity], FINDER])
        with self._lock:
            return [*chosen, *(name for name in self._asked if name in self._tools and name not in chosen)]

    @property
    def hidden(self) -> dict[str, ToolDefinition]:
        """The tools that the model must search for."""
        offered = set(self.offered)
        return {name: tool for name, tool in list(self._tools.items()) if name not in offered and name != FINDER}

    @property
    def summary(self) -> str:
        """A few words about the hidden tools: how many there are of each service."""
        count = Counter(str(getattr(tool, "server", "") or "others") for tool in self.hidden.values())
        return ", ".join(f"{number} of {name}" for name, number in count.most_common(12))


def offer_of(tools: Mapping[str, ToolDefinition]) -> Offer | None:
    """Return the `Offer` of the tool `find_tools`, set to these tools; None without that tool, so all tools are
    offered.
    """
    offer = getattr(tools.get(FINDER), "offer", None)
    if not isinstance(offer, Offer):
        return None
    offer.set_tools(tools)
    return offer
