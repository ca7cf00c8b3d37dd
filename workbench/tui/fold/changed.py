"""What one or more events changed, so that a widget repaints only when it must."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.tui.fold.state import Item, SessionState


@dataclass
class Changed:
    """Parts of the session that differ from what was shown.

    `added` items stand at the end of `state.items`, `earlier` ones at its beginning; those that are `gone` stood there.
    """

    added: list[Item] = field(default_factory=list)
    updated: list[Item] = field(default_factory=list)
    earlier: list[Item] = field(default_factory=list)
    gone: list[Item] = field(default_factory=list)
    live: bool = False
    tasks: bool = False
    changes: bool = False
    status: bool = False
    waiting: bool = False
    prompt: str = ""
    """A text that the person wanted for what they write."""

    @property
    def is_only_live(self) -> bool:
        """Whether nothing but the answer that streams has grown."""
        return self == Changed(live=True)

    def merge(self, later: Changed) -> Changed:
        """Take in what a later event changed; returns self, so that a batch folds into one repaint."""
        self.added.extend(later.added)
        self.updated.extend(item for item in later.updated if not (self.updated and self.updated[-1] is item))
        self.earlier[:0] = later.earlier
        self.live |= later.live
        self.tasks |= later.tasks
        self.changes |= later.changes
        self.status |= later.status
        self.waiting |= later.waiting
        self.prompt = later.prompt or self.prompt
        return self


def added(state: SessionState, item: Item) -> Changed:
    """Put an item at the end of the conversation."""
    state.items.append(item)
    return Changed(added=[item], status=True)
