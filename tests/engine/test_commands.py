"""A new command of a front end needs a struct and a handler, and nothing else."""

from __future__ import annotations

from hashlib import sha256
from types import SimpleNamespace
from typing import Any, cast

import pytest

from workbench.engine.handlers import Context, handle
from workbench.errors import WorkbenchError
from workbench.files.state_files import is_own_write
from workbench.protocol.codec import encode
from workbench.protocol.commands import Command, Leave, NoteWritten, RequestControl, decode_command


class RenameSession(Command):
    """The example in CONTRIBUTING.md: one struct."""

    title: str


def context(session: Any) -> Context:
    return Context(cast(Any, SimpleNamespace(session=session)), cast(Any, SimpleNamespace()))


def test_new_command_needs_a_struct_and_a_handler():
    renamed = []

    @handle.register(RenameSession)
    def _rename(command: RenameSession, context: Context) -> None:
        renamed.append(command.title)

    command = decode_command(encode(RenameSession(title="Fix the sign")))
    assert command == RenameSession(title="Fix the sign")
    handle(command, context(SimpleNamespace()))
    assert renamed == ["Fix the sign"]


def test_every_command_has_a_handler():
    commands = {kind for kind in Command.__subclasses__() if kind.__module__ == Command.__module__}
    handled = {kind for kind in commands if handle.dispatch(kind) is not handle.dispatch(Command)}
    by_the_server = {Leave, RequestControl}
    assert commands - handled == by_the_server


def test_command_without_a_handler_is_refused_by_name():
    with pytest.raises(WorkbenchError, match="no handler for Leave"):
        handle(Leave(), context(None))


def test_file_written_by_a_front_end_is_not_reported_once():
    digest = sha256(b"theme = 1").digest()
    handle(NoteWritten(path="/home/u/settings.toml", digest=digest.hex()), context(None))
    assert not is_own_write("/home/u/settings.toml", sha256(b"evil").digest())
    assert is_own_write("/home/u/settings.toml", digest)
    assert not is_own_write("/home/u/settings.toml", digest)


def test_invalid_hash_is_refused():
    with pytest.raises(WorkbenchError, match="not the hash"):
        handle(NoteWritten(path="/home/u/settings.toml", digest="x"), context(None))
