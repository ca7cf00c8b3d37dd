"""Images from the system's clipboard, with small fake programs of the usual names."""

import stat
import time

import pytest

from tests.sample_images import png
from workbench.errors import WorkbenchError
from workbench.tui.terminal.clipboard import can_read_images, store_image

WAYLAND, X11 = {"WAYLAND_DISPLAY": "wayland-1"}, {"DISPLAY": ":0"}
WL_PASTE = """case "$1" in
--list-types) echo text/plain; echo {kind} ;;
*) [ "$*" = "--no-newline --type {kind}" ] && cat {file} ;;
esac"""
XCLIP = """case "$*" in
"-selection clipboard -o -t TARGETS") printf 'TARGETS\\n{kind}\\n' ;;
"-selection clipboard -o -t {kind}") cat {file} ;;
*) exit 1 ;;
esac"""


@pytest.fixture
def program(tmp_path):
    """Puts a script of that name on the path; returns the environment."""

    def make(name, script, env):
        tools = tmp_path / "bin"
        tools.mkdir(exist_ok=True)
        file = tools / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return {"PATH": f"{tools}:/usr/bin:/bin", **env}

    return make


@pytest.fixture
def image(tmp_path):
    file = tmp_path / "on-the-clipboard"
    file.write_bytes(png(64, 32))
    return file


@pytest.mark.parametrize(
    ("name", "script", "env", "platform"),
    [
        ("wl-paste", WL_PASTE, WAYLAND, "linux"),
        ("xclip", XCLIP, X11, "linux"),
        ("pngpaste", '[ "$1" = - ] && cat {file}', {}, "darwin"),
        (
            "osascript",
            "printf '\\302\\253data PNGf'; od -An -v -tx1 {file} | tr -d ' \\n'; echo '\\302\\273'",
            {},
            "darwin",
        ),
    ],
)
@pytest.mark.starts
def test_each_program_provides_the_image_in_a_private_file(tmp_path, program, image, name, script, env, platform):
    env = program(name, script.format(kind="image/png", file=image), env)
    assert can_read_images(env, platform)
    image_path = store_image(tmp_path / "pasted", env, platform)
    assert image_path.read_bytes() == image.read_bytes()
    assert image_path.suffix == ".png"
    assert stat.S_IMODE(image_path.stat().st_mode) == 0o600
    assert stat.S_IMODE(image_path.parent.stat().st_mode) == 0o700
    assert store_image(tmp_path / "pasted", env, platform) == image_path  # the same image twice is one file
    assert list(image_path.parent.iterdir()) == [image_path]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo text/plain", "there is no image on the clipboard"),
        ("echo Nothing is copied >&2; exit 1", "there is no image on the clipboard"),
        (WL_PASTE.format(kind="image/png", file="/etc/passwd"), "there is no image on the clipboard"),
        ('[ "$1" = --list-types ] && echo image/png || yes', "too large: at most 3.5 MB"),
        ("sleep 300", "wl-paste gave no answer within 4 s"),
    ],
)
@pytest.mark.starts
def test_unusable_clipboard_is_one_line_and_nothing_is_stored(tmp_path, program, script, message):
    with pytest.raises(WorkbenchError, match=message):
        store_image(tmp_path / "pasted", program("wl-paste", script, WAYLAND), "linux")
    assert not (tmp_path / "pasted").exists()


@pytest.mark.parametrize(
    ("env", "platform", "message"),
    [
        (WAYLAND, "linux", "install wl-clipboard"),
        (X11, "linux", "install xclip"),
        ({}, "linux", "name an image's file with @"),
        ({}, "darwin", "install pngpaste"),
    ],
)
def test_missing_program_is_reported_with_alternatives(tmp_path, env, platform, message):
    env = {"PATH": str(tmp_path), **env}
    assert not can_read_images(env, platform)
    with pytest.raises(WorkbenchError, match=message):
        store_image(tmp_path / "pasted", env, platform)


@pytest.mark.starts
def test_old_images_are_removed_when_a_new_one_is_stored(tmp_path, program, image):
    import os

    directory = tmp_path / "pasted"
    directory.mkdir()
    for name, days in (("clip-old.png", 31), ("clip-new.png", 1), ("mine.png", 400)):
        (directory / name).touch()
        os.utime(directory / name, (time.time() - days * 86400,) * 2)
    image_path = store_image(directory, program("xclip", XCLIP.format(kind="image/png", file=image), X11), "linux")
    assert {file.name for file in directory.iterdir()} == {image_path.name, "clip-new.png", "mine.png"}
