"""Paths at which nothing exists, checked again with one stat for each directory instead of one for each path."""

from __future__ import annotations

import os

from workbench.files.stat_keys import StatKey, is_settled_directory, stat_key


class _Proof:
    """Proves that `paths` do not exist: each of them is one of the `children` of an existing directory, or below one,
    and no child exists. The children are looked up again only if the directory's stat differs.
    """

    def __init__(self) -> None:
        self._key: StatKey = ()
        self.children: set[str] = set()
        self.paths: set[str] = set()

    def holds(self, directory: str) -> bool:
        """Return whether the children still do not exist."""
        try:
            info = os.stat(directory)  # noqa: PTH116 - asked for each action
        except OSError:
            return False
        if stat_key(info) != self._key:
            if any(map(os.path.lexists, self.children)):
                return False
            self._key = stat_key(info) if is_settled_directory(info) else ()
        return True


class AbsentPaths:
    """Absolute paths at which nothing existed, not even a broken link, when `refresh` was last called."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._proofs: dict[str, _Proof] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._paths

    def add(self, path: str) -> None:
        """Add the path, unless something exists there, or one of its parents is a file or a broken link."""
        child = path
        while not os.path.isdir(directory := child.rpartition("/")[0] or "/"):  # noqa: PTH112
            child = directory
        if os.path.lexists(child):
            return
        proof = self._proofs.setdefault(directory, _Proof())
        proof.children.add(child)
        proof.paths.add(path)
        self._paths.add(path)

    def refresh(self) -> bool:
        """Remove the paths at which something may exist now; return whether nothing had to be removed."""
        changed = [directory for directory, proof in self._proofs.items() if not proof.holds(directory)]
        for directory in changed:
            self._paths -= self._proofs.pop(directory).paths
        return not changed
