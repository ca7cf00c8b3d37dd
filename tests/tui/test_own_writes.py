"""The screen tells the engine which settings and approvals it writes, so that no action is blamed for them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench.files import state_files
from workbench.files.state_files import on_own_write, replace_file
from workbench.protocol.commands import NoteWritten
from workbench.tui.start import _notify_engine


def test_each_file_of_settings_and_approvals_is_announced_before_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(state_files, "_listeners", [])
    sent: list[tuple[NoteWritten, bool]] = []
    send = lambda command: sent.append((command, Path(command.path).exists()))
    app = SimpleNamespace(session=SimpleNamespace(client=SimpleNamespace(send=send)))
    on_own_write(lambda path, digest: _notify_engine(app, (tmp_path / "config", tmp_path / "mcp"), path, digest))
    for name in ("config/settings.toml", "mcp/x.json", "unsent/draft"):
        replace_file(tmp_path / name, name.encode())
    expected = [
        NoteWritten(path=str(tmp_path / name), digest=sha256(name.encode()).hexdigest())
        for name in ("config/settings.toml", "mcp/x.json")
    ]
    assert sent == [(command, False) for command in expected]


def test_nothing_is_announced_without_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_files, "_listeners", [])
    app = SimpleNamespace(session=SimpleNamespace(client=None))
    on_own_write(lambda path, digest: _notify_engine(app, (tmp_path,), path, digest))
    replace_file(tmp_path / "settings.toml", b"x")
    assert (tmp_path / "settings.toml").read_bytes() == b"x"
