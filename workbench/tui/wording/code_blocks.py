"""The code blocks of a Markdown text, as one copies them: without their fences. Pure."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")


def code_blocks(text: str) -> list[str]:
    """What stands between fences, in order; a block that is not closed goes to the end."""
    blocks: list[str] = []
    fence, lines = "", list[str]()
    for line in text.splitlines():
        found = _FENCE.match(line)
        if fence and found and found[1].startswith(fence) and not found[2].strip():
            blocks.append("\n".join(lines))
            fence, lines = "", []
        elif fence:
            lines.append(line)
        elif found:
            fence = found[1]
    return [*blocks, "\n".join(lines)] if fence else blocks
