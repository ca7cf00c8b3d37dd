"""The state that a log leads to, stored beside the session so that a long log need not be replayed to open it.

The log remains the only truth: the stored state can be deleted at any time, and whatever does not fit is ignored. It
fits only if a process of ours signed it, if the code and the settings that computed it are the same, and if the log
still begins with the events that it was computed from.

If the session's files have the stat that the last engine left, that is known without reading the events, and the file
is not checked as a whole; each event is still checked when it is read. If only the write-ahead log has new content, as
after a kill, that log is checked, and the checksums of the events are compared with the stored state. In every other
case the whole file is checked as well.
"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, Self

import msgspec
import msgspec.structs

import workbench
from workbench.files.stat_keys import StatKey, stat_key
from workbench.protocol.codec import as_text
from workbench.session.limits import TokenCount
from workbench.session.log import Log
from workbench.session.loop_watch import Failures, LoopWatch
from workbench.session.mentions import PendingResources
from workbench.session.recalled_results import RecalledResults
from workbench.session.state import State, assign
from workbench.session.storage.event_rows import LogMark
from workbench.session.storage.signatures import is_signed_content, sign_content
from workbench.session.storage.store import Store
from workbench.session.storage.store_files import log_of
from workbench.session.turn.context_window import ContextWindow, ModelContext, PartCount
from workbench.session.turn.message_history import MessageHistory
from workbench.tools.tool import ToolDefinition

logger = logging.getLogger(__name__)
NAME: Final = "state.bin"
"""The name of the file in the session's state directory."""
_LOADED: Final = time.time_ns()
_FEWEST: Final = 1_000
"""The state of a log with fewer events is not stored: such a log is replayed within some hundredths of a second."""


class Reducers(msgspec.Struct):
    """Everything that a session derives from its log alone."""

    state: State
    tokens: TokenCount
    history: MessageHistory
    window: ContextWindow
    pending: PendingResources
    sizes: PartCount
    loops: LoopWatch
    failures: Failures
    results: RecalledResults

    @classmethod
    def of(cls, state: State, tokens: TokenCount, context: ModelContext, tools: Mapping[str, ToolDefinition]) -> Self:
        """Return the reducers of a session: those that exist already, and new ones."""
        return cls(
            state,
            tokens,
            context.history,
            context.window,
            context.pending,
            context.sizes,
            LoopWatch(),
            Failures(),
            RecalledResults.of(tools),
        )

    def load(self, encoded: msgspec.Raw) -> bool:
        """Set the reducers to encoded values; return False if these do not fit the current settings and tools."""
        try:
            stored = msgspec.msgpack.decode(encoded, type=type(self))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return False
        sizes = (self.history.max_observe, self.sizes.max_observe, self.results.tools)
        if sizes != (stored.history.max_observe, stored.sizes.max_observe, stored.results.tools):
            return False
        for field in self.__struct_fields__:
            assign(getattr(self, field), getattr(stored, field))
        return True


class SavedState(msgspec.Struct, frozen=True):
    """The encoded reducers after the events of `mark`, and what they are valid for."""

    code: str
    mark: LogMark
    stamp: tuple[int | str, ...]
    """The stat of the session's files after the engine has closed them."""
    model: str
    reducers: msgspec.Raw


class StateCache:
    """The stored state of one session: read before the session is opened, and written after its file is closed."""

    def __init__(self, path: Path, directory: Path, *, is_usable: bool = True) -> None:
        """`directory` is the session's state directory; unless `is_usable`, no state is read or written."""
        self.directory = directory
        self._path = path
        self._is_usable = is_usable
        self._saved = _read(path.stem, directory / NAME) if is_usable else None
        self._is_unchanged = False
        self._parts: tuple[Log, Reducers] | None = None
        self._next: SavedState | None = None

    def open_store(self) -> Store:
        """Open the session file, and check it unless it is unchanged since it was closed. Raises StoreError."""
        saved, of_file = self._saved, _key_of(self._path)
        self._is_unchanged = saved is not None and saved.stamp == stamp_of(self._path)
        is_checked = saved is not None and bool(of_file) and saved.stamp[: len(of_file)] == of_file
        store = Store.open(self._path, is_checked=is_checked)
        if saved is not None and not self._is_unchanged and store.mark(saved.mark.seq) != saved.mark:
            self._saved = None
        return store

    @property
    def seq(self) -> int:
        """The number of events that the stored state contains; 0 if there is none."""
        return self._saved.mark.seq if self._saved is not None else 0

    @property
    def model(self) -> str:
        """The session's model after the events of the stored state; empty if there is none."""
        return self._saved.model if self._saved is not None else ""

    def load(self, reducers: Reducers) -> int:
        """Set the reducers to the stored values if these fit; return how many events they contain, 0 if none fit."""
        if self._saved is not None and not reducers.load(self._saved.reducers):
            self._saved = None
        return self.seq

    def follow(self, log: Log, reducers: Reducers) -> None:
        """Remember the log and its reducers, whose values are stored when the session is closed."""
        self._parts = log, reducers

    def collect(self, store: Store) -> None:
        """Encode the state before the session file is closed, unless it is stored already or cannot be trusted."""
        if self._parts is None or not self._is_usable:
            return
        log, reducers = self._parts
        with log.lock:
            seq = log.last_seq
            is_stored = self._is_unchanged and seq == self.seq
            is_doubtful = log.has_unsaved or store.gaps or store.readonly or store.others_wrote() or store.was_shared
            if is_stored or is_doubtful or seq < _FEWEST:
                return
            mark = store.mark(seq, self._saved.mark if self._saved is not None else None)
            encoded = _encoded(reducers)
        if mark is not None and encoded:
            self._next = SavedState(_code(), mark, (), reducers.state.model, msgspec.Raw(encoded))

    def write(self) -> None:
        """Store the encoded state. Errors are logged, because the log is enough to open the session."""
        if self._next is None or not (stamp := stamp_of(self._path)):
            return
        content = msgspec.msgpack.encode(msgspec.structs.replace(self._next, stamp=stamp))
        try:
            if signature := sign_content(self._path.stem, content):
                _replace(self.directory / NAME, signature.encode() + b"\n" + content)
        except OSError as error:
            logger.info("the state of the session was not stored: %s", error)


def _encoded(reducers: Reducers) -> bytes:
    """Return the encoded reducers; empty if a value cannot be encoded, such as a number of more than 64 bits."""
    try:
        return msgspec.msgpack.encode(reducers, enc_hook=as_text)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        logger.info("the state of the session cannot be stored: %s", error)
        return b""


def stamp_of(path: Path) -> StatKey:
    """Return the stat of a session file and of its write-ahead log, if that has content; empty if it cannot be read."""
    key = _key_of(path)
    with suppress(OSError):
        log = log_of(path).stat()
        # merely reading leaves an empty log beside a file
        key += stat_key(log) if key and log.st_size else ()
    return key


def _key_of(path: Path) -> StatKey:
    try:
        return stat_key(path.stat())
    except OSError:
        return ()


def _read(session: str, file: Path) -> SavedState | None:
    """Return the stored state of a session if this program computed it and signed it; else None."""
    try:
        signature, _, content = file.read_bytes().partition(b"\n")
        if not is_signed_content(session, content, signature.decode("ascii", "replace")):
            return None
        saved = msgspec.msgpack.decode(content, type=SavedState)
    except (OSError, msgspec.MsgspecError):
        return None
    return saved if saved.code == _code() else None


def _replace(file: Path, content: bytes) -> None:
    """Write a private file. It is not forced to the disk, because a file torn by a crash has no valid signature."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = file.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    temporary.replace(file)


@cache
def _code() -> str:
    """Return a key that changes with the code of this program, on which the state depends."""
    digest = hashlib.sha256(workbench.__version__.encode())
    for line in sorted(_sources(str(Path(__file__).parents[1]))):
        digest.update(line.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _sources(directory: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                info = entry.stat()
                # a file that was changed while this process runs is perhaps not the code that it runs
                change = info.st_mtime_ns if info.st_mtime_ns < _LOADED else os.urandom(8)
                yield f"{entry.path}\0{info.st_size}\0{change!r}\n"
