"""Whether code takes files away or writes over them, by the words in it; which files is known only when it runs."""

from __future__ import annotations

import re
from typing import Literal

from workbench.security.assessment import ANY, Part
from workbench.security.mentions import texts_of

_DELETES = re.compile(
    r"rmtree|removedirs|\bunlink\w*|\brmdir\w*|\brmSync|\brm_rf?\b|\bos\.remove|\bimport\b[^\n]*\bremove\b|"
    r"\bFile\.delete|\bFileUtils\.|\bfs\.rm\b|\bremove_(?:file|dir|tree)\b|\brm\b|\bshred\b|\bgit\s+clean\b|-delete\b"
)
_WRITES = re.compile(
    r"\btruncate\b|\bwrite_(?:text|bytes)\b|writeFile\w*|\bshutil\.(?:move|copy\w*|unpack_archive)|\bos\.(?:rename|replace)|"
    r"\bFile\.(?:rename|write)|\bextractall\b|\bmv\b|\bcp\b|open\s*\([^)]*[\"'][rbt]*[wx+]"
)


def loss_by(code: str) -> Literal["delete", "write", ""]:
    """What the code may do to files; empty where no word of it speaks of that."""
    if _DELETES.search(code):
        return "delete"
    return "write" if _WRITES.search(code) else ""


def losing(part: Part, code: str, workspace: str) -> Part:
    """The part with the files of the workspace that its code may delete or write over: any, or those it names."""
    use, everything = loss_by(code), (f"{workspace}{ANY}",)
    if use == "delete":
        return part._replace(deletes=everything)
    return part._replace(changes=everything) if use else part._replace(mentions=texts_of(code), folders=(workspace,))
