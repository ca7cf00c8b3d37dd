"""An image from the system's clipboard, by a program of the system, kept in a file that a message can name.

Used by the prompt, in a thread: a terminal passes on text alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.errors import WorkbenchError
from workbench.files.images import MOST_BYTES, kind_of
from workbench.processes.start import find_program, start
from workbench.secrets.names import child_environment
from workbench.view.chips import size_of

_PATIENCE: Final = 4.0
"""Seconds one program has for its answer."""
_KEPT_FOR: Final = 30 * 24 * 3600.0
_KINDS: Final = ("image/png", "image/jpeg", "image/webp", "image/gif")
_APPLE: Final = "get the clipboard as \u00abclass PNGf\u00bb"


def can_read_images(env: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether there is a program that reads them."""
    return _program(env, platform) is not None


def keep_image(folder: Path, env: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The image on the clipboard as a file in the folder; raises WorkbenchError with one line where there is none."""
    program = _program(env, platform)
    if program is None:
        raise WorkbenchError(_missing(env, platform))
    data = _image(program, env)
    kind = kind_of(data)
    if len(data) > MOST_BYTES:
        raise WorkbenchError(f"the image on the clipboard is too large: at most {size_of(MOST_BYTES)} can be sent")
    if kind is None:
        raise WorkbenchError("there is no image on the clipboard")
    try:
        return _kept(folder, data, kind)
    except OSError as error:
        raise WorkbenchError(f"the image cannot be kept: {error.strerror or error}") from error


def _program(env: Mapping[str, str], platform: str) -> str | None:
    wanted = ["pngpaste", "osascript"] if platform == "darwin" else []
    if platform != "darwin":
        wanted += ["wl-paste"] if env.get("WAYLAND_DISPLAY") else []
        wanted += ["xclip"] if env.get("DISPLAY") else []
    return next((name for name in wanted if find_program(name, env)), None)


def _missing(env: Mapping[str, str], platform: str) -> str:
    if platform == "darwin":
        return "no program here reads images from the clipboard; install pngpaste"
    if env.get("WAYLAND_DISPLAY"):
        return "no program here reads images from the clipboard; install wl-clipboard"
    if env.get("DISPLAY"):
        return "no program here reads images from the clipboard; install xclip"
    return "there is no desktop here with a clipboard; name an image's file with @"


def _image(program: str, env: Mapping[str, str]) -> bytes:
    if program == "pngpaste":
        return _answer([program, "-"], env, MOST_BYTES)
    if program == "osascript":
        return _of_apple(_answer([program, "-e", _APPLE], env, 2 * MOST_BYTES + 100))
    ask = [program, "--list-types"] if program == "wl-paste" else [program, "-selection", "clipboard", "-o", "-t"]
    there = _answer(ask if program == "wl-paste" else [*ask, "TARGETS"], env, 64_000).decode(errors="replace").split()
    kind = next((kind for kind in _KINDS if kind in there), None)
    if kind is None:
        return b""
    return _answer(
        [program, "--no-newline", "--type", kind] if program == "wl-paste" else [*ask, kind], env, MOST_BYTES
    )


def _of_apple(said: bytes) -> bytes:
    """AppleScript writes the bytes as hexadecimal digits between signs of its own."""
    digits = re.search(rb"PNGf([0-9A-Fa-f]*)", said)
    return bytes.fromhex(digits[1][: len(digits[1]) // 2 * 2].decode()) if digits else b""


def _answer(command: Sequence[str], env: Mapping[str, str], most: int) -> bytes:
    """What the program writes, one byte more than `most` at most; nothing where it ends with an error."""
    until = time.monotonic() + _PATIENCE
    found = find_program(command[0], env) or command[0]
    try:
        process = start(
            [found, *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(env),
            start_new_session=True,
        )
    except OSError as error:
        raise WorkbenchError(f"{command[0]}: {error.strerror or error}") from error
    try:
        data = _read(process, most, until)
        if data is None:
            raise WorkbenchError(f"{command[0]} gave no answer within {_PATIENCE:.0f} s")
        return data if len(data) > most or _ended_well(process, until) else b""
    finally:
        _end(process)


def _read(process: subprocess.Popen[bytes], most: int, until: float) -> bytes | None:
    """None where the time was over first."""
    assert process.stdout is not None
    pipe, data = process.stdout.fileno(), bytearray()
    while len(data) <= most:
        ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return None
        part = os.read(pipe, min(65536, most + 1 - len(data)))
        if not part:
            break
        data += part
    return bytes(data)


def _ended_well(process: subprocess.Popen[bytes], until: float) -> bool:
    try:
        return process.wait(max(0.1, until - time.monotonic())) == 0
    except subprocess.TimeoutExpired:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing of it behind."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _kept(folder: Path, data: bytes, kind: str) -> Path:
    """In a file that only the person reads, under a name that tells the content; those of long ago are removed."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in folder.glob("clip-*"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > _KEPT_FOR:
                old.unlink()
    name = f"clip-{hashlib.sha256(data).hexdigest()[:8]}.{kind.removeprefix('image/')}"
    whole = folder / name
    part = folder / f".{name}.{os.getpid()}"
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    part.replace(whole)
    return whole
