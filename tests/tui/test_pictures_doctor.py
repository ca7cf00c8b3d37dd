"""Golden pictures of `ohw doctor` in a terminal: all is well, and what it says about what is missing."""

from __future__ import annotations

import platform
import shutil
from collections import namedtuple

import pytest
from textual.app import App, ComposeResult
from textual.widgets import Static

from tests.sandbox import Sandbox
from tests.tui.pictures import in_each_look
from workbench.cli import doctor
from workbench.files.git import GitAnswer
from workbench.sandbox.proof import Attempt, Proof
from workbench.tools.browser.installation import NO_PLAYWRIGHT, Missing
from workbench.tui.themes import builtin_directory, load_themes

MODEL = 'model = "fast"\n[models.fast]\nmodel = "openai/m"\napi_key_env = "OPENAI_API_KEY"\n'
HELD = tuple(Attempt(f"attempt {number}", True) for number in range(32))
SOUND = Proof("", HELD)
NOT_HERE = Proof("bubblewrap is not installed, and not even a partial one is possible: this kernel has no Landlock")
Usage = namedtuple("Usage", "free")


class Terminal(App[None]):
    """A terminal that shows what a command has printed."""

    CSS = "Static { width: 1fr; text-wrap: nowrap; }"
    COMMAND_PALETTE_BINDING = "f24"

    def __init__(self, printed: str) -> None:
        super().__init__()
        self._printed = printed
        for theme in load_themes(builtin_directory()).usable:
            self.register_theme(theme)

    def compose(self) -> ComposeResult:
        yield Static(f"$ ohw doctor\n{self._printed}", markup=False)


@in_each_look
@pytest.mark.parametrize(
    ("settings", "kind", "proof", "free", "words"),
    [
        (MODEL, "auto", SOUND, 80, "proven: 32 attempts"),
        ('[container]\nimage = "busybox"\n', "workspace-write", NOT_HERE, 0.1, "none (bubblewrap"),
    ],
    ids=["sound", "with_errors"],
)
def test_what_it_prints(settings, kind, proof, free, words, look, picture, sandbox: Sandbox, monkeypatch):
    def no_chromium() -> str:
        raise Missing(NO_PLAYWRIGHT)

    monkeypatch.setattr(doctor, "visible_path", lambda path: path.replace(str(sandbox.home), "/home/me"))
    monkeypatch.setattr(doctor, "columns", lambda: look.width)
    monkeypatch.setattr(doctor, "prove", lambda boundary: proof)
    monkeypatch.setattr(doctor, "find_chromium", no_chromium)
    monkeypatch.setattr(platform, "platform", lambda **_: "Linux-6.18-x86_64-with-glibc2.36")
    monkeypatch.setattr(platform, "python_version", lambda: "3.13.1")
    monkeypatch.setattr(doctor, "run_git", lambda *_, **__: GitAnswer(0, b"git version 2.48.1"))
    monkeypatch.setattr(doctor, "find_program", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(int(free * 2**30)))
    sandbox.locations.config.mkdir(parents=True, exist_ok=True)
    sandbox.locations.settings_file.write_text(settings)
    printed = sandbox.command("doctor", PATH="/nowhere", OHW_SANDBOX=kind).stdout
    assert words in " ".join(printed.split())

    async def show(pilot):
        await pilot.pause()

    assert picture(Terminal(printed), look, show)
