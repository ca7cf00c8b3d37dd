"""Keys of the person's own: which binding ids there are, and what is wrong with the settings' table of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from textual.binding import Binding
from textual.dom import DOMNode

from workbench.tui.later import load_later


def known_ids() -> set[str]:
    """Ids of all bindings of the workbench's own app, screens and widgets, also of those not needed yet."""
    load_later()
    found: set[str] = set()
    for each in _ours(DOMNode):
        bindings = vars(each).get("BINDINGS", ())
        found |= {binding.id for binding in bindings if isinstance(binding, Binding) and binding.id}
    return found


def _ours(base: type[DOMNode]) -> Iterator[type[DOMNode]]:
    for each in base.__subclasses__():
        if each.__module__.startswith("workbench."):
            yield each
        yield from _ours(each)


def key_problems(keys: Mapping[str, str]) -> list[str]:
    """One line on each entry that changes nothing."""
    known = known_ids() if keys else set()
    return [f"settings: there is no key binding {name!r}" for name in keys if name not in known]
