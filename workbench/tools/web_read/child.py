"""Runs the converter as a child process: with a limit of time, and gone when its call is; used by `impl`."""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import DEVNULL, PIPE
from typing import Any

from workbench.processes.start import isolated_python, start_beside

_SECONDS = 40.0
_KEPT = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT")
"""What the converter gets of the environment: no keys."""


async def converted(kind: str, part: str, charset: str, url: str, content: bytes) -> dict[str, Any]:
    """What the converter says: title, text and notes, or an error. Cancelling ends it."""
    process = await start_beside(
        isolated_python("workbench.tools.web_read.converting", kind, part, charset, url),
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
    )
    try:
        async with asyncio.timeout(_SECONDS):
            out, _ = await process.communicate(content)
    except TimeoutError:
        return {"error": f"it could not be turned into text within {_SECONDS:g} seconds."}
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        found: dict[str, Any] = json.loads(out)
    except ValueError:
        return {"error": "it could not be turned into text: the converter failed."}
    return found
