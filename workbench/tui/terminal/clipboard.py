"""Copies text to the clipboard and reads images from it with programs of the system.

Terminals pass on only text, and many refuse the control sequence for the clipboard. An image is stored in a file that a
message can mention; the prompt does that in a thread.
"""

from __future__ import annotations

import hashlib
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from workbench.errors import WorkbenchError
from workbench.files.images import MOST_BYTES, kind_of
from workbench.processes.spawn import find_program, run, start
from workbench.secrets.secret_names import child_environment
from workbench.text import size_of

_COPY_TIMEOUT: Final = 5.0
_READ_TIMEOUT: Final = 4.0
"""Seconds within which a program must write the content of the clipboard."""
_RETENTION: Final = 30 * 24 * 3600.0
"""Seconds after which a stored image is removed."""
_KINDS: Final = ("image/png", "image/jpeg", "image/webp", "image/gif")
_APPLE: Final = "get the clipboard as \u00abclass PNGf\u00bb"


def copy_command(env: Mapping[str, str], platform: str = sys.platform) -> Sequence[str] | None:
    """Return a command that copies its standard input to the clipboard, or None if no such program is installed."""
    commands: list[tuple[str, ...]]
    if platform == "darwin":
        commands = [("pbcopy",)]
    elif "WAYLAND_DISPLAY" in env:
        commands = [("wl-copy",)]
    elif "DISPLAY" in env:
        commands = [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    else:
        commands = [("clip.exe",)] if "WSL_DISTRO_NAME" in env else []
    return next((command for command in commands if find_program(command[0], env)), None)


def copy_with_program(text: str, env: Mapping[str, str]) -> None:
    """Copy text in a new thread; do nothing if no suitable program is installed."""
    command = copy_command(env)
    if command is not None:
        threading.Thread(target=_copy, args=(command, text), daemon=True, name="ohw-clipboard").start()


def _copy(command: Sequence[str], text: str) -> None:
    with suppress(OSError):
        run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_COPY_TIMEOUT,
            start_new_session=True,
        )


def can_read_images(env: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Return whether a program that reads images from the clipboard is installed."""
    return _image_program(env, platform) is not None


def store_image(directory: Path, env: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Store the image on the clipboard as a file in a directory, and return its path.

    Raises WorkbenchError if there is no image or no program, or if the image is too large or cannot be written.
    """
    program = _image_program(env, platform)
    if program is None:
        raise WorkbenchError(_no_program(env, platform))
    data = _read_image(program, env)
    kind = kind_of(data)
    if len(data) > MOST_BYTES:
        raise WorkbenchError(f"the image on the clipboard is too large: at most {size_of(MOST_BYTES)} can be sent")
    if kind is None:
        raise WorkbenchError("there is no image on the clipboard")
    try:
        return _store(directory, data, kind)
    except OSError as error:
        raise WorkbenchError(f"the image cannot be saved: {error.strerror or error}") from error


def _image_program(env: Mapping[str, str], platform: str) -> str | None:
    names = ["pngpaste", "osascript"] if platform == "darwin" else []
    if platform != "darwin":
        names += ["wl-paste"] if env.get("WAYLAND_DISPLAY") else []
        names += ["xclip"] if env.get("DISPLAY") else []
    return next((name for name in names if find_program(name, env)), None)


def _no_program(env: Mapping[str, str], platform: str) -> str:
    if platform == "darwin":
        return "no program here reads images from the clipboard; install pngpaste"
    if env.get("WAYLAND_DISPLAY"):
        return "no program here reads images from the clipboard; install wl-clipboard"
    if env.get("DISPLAY"):
        return "no program here reads images from the clipboard; install xclip"
    return "there is no desktop here with a clipboard; name an image's file with @"


def _read_image(program: str, env: Mapping[str, str]) -> bytes:
    if program == "pngpaste":
        return _output([program, "-"], env, MOST_BYTES)
    if program == "osascript":
        return _decode_applescript(_output([program, "-e", _APPLE], env, 2 * MOST_BYTES + 100))
    ask = [program, "--list-types"] if program == "wl-paste" else [program, "-selection", "clipboard", "-o", "-t"]
    kinds = _output(ask if program == "wl-paste" else [*ask, "TARGETS"], env, 64_000).decode(errors="replace").split()
    kind = next((kind for kind in _KINDS if kind in kinds), None)
    if kind is None:
        return b""
    return _output(
        [program, "--no-newline", "--type", kind] if program == "wl-paste" else [*ask, kind], env, MOST_BYTES
    )


def _decode_applescript(output: bytes) -> bytes:
    """Decode the hexadecimal digits that AppleScript writes between guillemets."""
    digits = re.search(rb"PNGf([0-9A-Fa-f]*)", output)
    return bytes.fromhex(digits[1][: len(digits[1]) // 2 * 2].decode()) if digits else b""


def _output(command: Sequence[str], env: Mapping[str, str], most: int) -> bytes:
    """Return at most `most` + 1 bytes of a program's output; nothing if it exits with an error.

    Raises WorkbenchError if it cannot be started or takes too long.
    """
    deadline = time.monotonic() + _READ_TIMEOUT
    path = find_program(command[0], env) or command[0]
    try:
        process = start(
            [path, *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(env),
            start_new_session=True,
        )
    except OSError as error:
        raise WorkbenchError(f"{command[0]}: {error.strerror or error}") from error
    try:
        data = _read(process, most, deadline)
        if data is None:
            raise WorkbenchError(f"{command[0]} gave no answer within {_READ_TIMEOUT:.0f} s")
        return data if len(data) > most or _succeeded(process, deadline) else b""
    finally:
        _end(process)


def _read(process: subprocess.Popen[bytes], most: int, deadline: float) -> bytes | None:
    """Return at most `most` + 1 bytes of the output, or None if the deadline passes first."""
    assert process.stdout is not None
    pipe, data = process.stdout.fileno(), bytearray()
    while len(data) <= most:
        ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return None
        part = os.read(pipe, min(65536, most + 1 - len(data)))
        if not part:
            break
        data += part
    return bytes(data)


def _succeeded(process: subprocess.Popen[bytes], deadline: float) -> bool:
    try:
        return process.wait(max(0.1, deadline - time.monotonic())) == 0
    except subprocess.TimeoutExpired:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the program with its process group if it is still running, and close the pipe."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _store(directory: Path, data: bytes, kind: str) -> Path:
    """Write a file that only the user can read, named after its content; remove files older than `_RETENTION`."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in directory.glob("clip-*"):
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > _RETENTION:
                old.unlink()
    name = f"clip-{hashlib.sha256(data).hexdigest()[:8]}.{kind.removeprefix('image/')}"
    path = directory / name
    part = directory / f".{name}.{os.getpid()}"
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    part.replace(path)
    return path
