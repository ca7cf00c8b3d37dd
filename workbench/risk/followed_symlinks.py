"""Rates programs that follow the links below a directory, by the targets of these links."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from workbench.risk.paths import PathContext, Rating, within
from workbench.risk.symlink_patterns import TooManyMatches, descendant_symlinks


def following(context: PathContext, path: str) -> Rating:
    """Return the risk and reason of reading everything below an absolute path, including the targets of links there."""
    real, rating = context.resolved(path), context.reading(path, deep=True)
    if rating[0] != "LOW" or not within(real, context.workspace):
        return rating
    assumed = (target for link, target in context.symlinks.items() if within(link, real))
    return context.led_to(chain(assumed, descendant_symlinks(real, context.workspace)), deep=True)


def followed(context: PathContext, path: str) -> Sequence[str]:
    """Return the real paths of the links below a path; only the workspace if there are too many."""
    try:
        return [context.resolved(link) for link in descendant_symlinks(context.resolved(path), context.workspace)]
    except TooManyMatches:
        return (context.workspace,)
