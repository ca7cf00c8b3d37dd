"""Which part of the messages may be replaced by a summary, and the messages after that; pure, used by the history.

Each message is tagged with the number of the event it comes from. A call, its results and what belongs to them are
never parted, whatever the tags are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from workbench.llm.model import Message
from workbench.llm.signatures import unsigned

KEPT_FIRST = 4
_FEWEST = 2
_INTRODUCTION = (
    "[The workbench has condensed the history: this summary stands for the part of the conversation that was here.]"
)


@dataclass(frozen=True)
class Middle:
    """Messages that a summary can stand for, with the numbers of the first and the last event they come from."""

    first: int
    last: int
    messages: Sequence[Message]


@dataclass(frozen=True)
class Tagged:
    """Messages with the events they come from, side by side."""

    messages: list[Message]
    seqs: list[int]


@dataclass(frozen=True)
class LastCondensing:
    """A condensing that can be taken back: its event, what it stood for, and the messages that were there before."""

    seq: int
    first: int
    last: int
    before: Tagged
    length: int
    """How many messages there were right after it."""

    def undone(self, now: Tagged, model_since: int) -> Tagged:
        """The messages as they would stand without it; a model set since then has signed none of the old ones."""
        since = slice(self.length, None)
        before = unsigned(self.before.messages) if model_since > self.seq else self.before.messages
        return Tagged([*before, *now.messages[since]], [*self.before.seqs, *now.seqs[since]])


def find_middle(history: Tagged) -> Middle | None:
    """What lies between the first messages and the recent half; None where that is not worth a summary."""
    count = len(history.messages)
    cuts = [cut for cut in _cuts(history) if KEPT_FIRST <= cut < count]
    if not cuts:
        return None
    begin, half = cuts[0], count - count // 2
    end = max((cut for cut in cuts if cut <= half), default=begin)
    if end == begin:  # one long batch reaches over the half
        end = next((cut for cut in cuts if cut > half), begin)
    if end - begin < _FEWEST:
        return None
    seqs = history.seqs[begin:end]
    return Middle(min(seqs), max(seqs), history.messages[begin:end])


def _cuts(history: Tagged) -> list[int]:
    """The places where everything before comes from earlier events than everything behind, and no batch is parted."""
    before = list(accumulate(history.seqs, max))
    behind = list(accumulate(reversed(history.seqs), min))[::-1]
    return [
        place
        for place in range(1, len(history.seqs))
        if before[place - 1] < behind[place] and history.messages[place]["role"] != "tool"
    ]


def condensed(history: Tagged, first: int, last: int, summary: str) -> Tagged:
    """The messages with the summary in place of all that come from these events; a batch goes whole or not at all."""
    after = Tagged([], [])
    place: int | None = None
    for begin, end in _units(history.messages):
        if all(first <= seq <= last for seq in history.seqs[begin:end]):
            place = len(after.messages) if place is None else place
        else:
            after.messages.extend(history.messages[begin:end])
            after.seqs.extend(history.seqs[begin:end])
    if place is not None:
        after.messages.insert(place, {"role": "user", "content": f"{_INTRODUCTION}\n\n{summary}"})
        after.seqs.insert(place, first)  # the next summary finds it in the order of the log
    return after


def _units(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """An answer with its results is one unit, any other message is one by itself."""
    begins = [place for place, message in enumerate(messages) if message["role"] != "tool"]
    return list(pairwise([*begins, len(messages)]))
