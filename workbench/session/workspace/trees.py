"""The tree objects of a snapshot in one pack; git would write a file for each, which takes longer than all the rest."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping

from workbench.session.workspace.index_file import Entry, blob_of, mode_of

_TREE = 2
"""The type number of trees in a pack."""


def packed_trees(entries: Mapping[bytes, Entry]) -> bytes:
    """Return a pack with the trees that `git write-tree` creates for an index with these files."""
    trees = dict(_trees(entries))
    objects = b"".join(_header(len(tree)) + zlib.compress(tree, 1) for tree in trees.values())
    pack = b"PACK" + (2).to_bytes(4, "big") + len(trees).to_bytes(4, "big") + objects
    return pack + _sha1(pack)


def _trees(entries: Mapping[bytes, Entry]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the id and the content of each tree, those of subdirectories first."""
    rows: dict[bytes, list[tuple[bytes, bytes]]] = {b"": []}
    for path, entry in entries.items():
        directory, _, name = path.rpartition(b"/")
        above = directory
        while above not in rows:
            rows[above] = []
            above = above.rpartition(b"/")[0]
        rows[directory].append((name, b"%b %b\0%b" % (mode_of(entry), name, blob_of(entry))))
    for directory in sorted(rows, key=_depth, reverse=True):
        tree = b"".join(row for _, row in sorted(rows[directory]))
        tree_id = _sha1(b"tree %d\0" % len(tree) + tree)
        yield tree_id, tree
        if directory:
            above, _, name = directory.rpartition(b"/")
            rows[above].append((name + b"/", b"40000 %b\0%b" % (name, tree_id)))  # git sorts directories so


def _depth(directory: bytes) -> int:
    return directory.count(b"/") + bool(directory)


def _header(size: int) -> bytes:
    """Return the header of a tree of this size in a pack: the type, and the size as 4 bits, then 7 bits per byte."""
    header = [_TREE << 4 | size & 0xF]
    size >>= 4
    while size:
        header[-1] |= 0x80
        header.append(size & 0x7F)
        size >>= 7
    return bytes(header)


def _sha1(raw: bytes) -> bytes:
    return hashlib.sha1(raw, usedforsecurity=False).digest()
