"""The log file of an engine: small, rotated, and safe to print; `workbench.engine.process` sets it up once."""

from __future__ import annotations

import logging
import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from workbench.config.locations import private_directory
from workbench.errors import WorkbenchError
from workbench.files.state_files import discard_file
from workbench.secrets.masker import MASKER
from workbench.text import visible

_KEEP_FILES = 40
_LIMIT = 1_000_000


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return MASKER.masked(visible(super().format(record)))


class _PrivateFile(RotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", errors="backslashreplace", opener=_private)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def write_logs_to(path: Path) -> None:
    """Write the log of this process to the file `path`, and remove the oldest files in its directory.

    If the log cannot be written, logging is disabled: it must neither end the engine nor write elsewhere.
    """
    logging.raiseExceptions = False
    try:
        private_directory(path.parent)
        prune(path.parent)
        log: logging.Handler = _PrivateFile(path, maxBytes=_LIMIT, backupCount=1, encoding="utf-8", delay=True)
    except (OSError, WorkbenchError):
        log = logging.NullHandler()
    log.setFormatter(_Visible("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[log])
    for chatty in ("litellm", "LiteLLM", "httpx", "httpcore", "openai", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def prune(directory: Path, keep: int = _KEEP_FILES) -> None:
    """Remove all but the `keep` newest log files."""
    dated: list[tuple[float, Path]] = []
    for path in directory.glob("*.log*"):
        try:
            dated.append((path.stat().st_mtime, path))
        except OSError:
            continue  # another engine removed it
    for _, path in sorted(dated, reverse=True)[keep:]:
        discard_file(path)
