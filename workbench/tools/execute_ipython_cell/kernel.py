"""The program behind `execute_ipython_cell`: an IPython that takes cells from a socket; run by `impl` as a script.

It runs in the interpreter of the workspace, so it knows nothing of this project: IPython and the standard library only.
Each request is a line `{"id", "code"}`; its answer `{"id", "error", "count", "folder"}`. Pictures come before it as
`{"image": base64, "type"}`. Whatever a cell prints goes to the standard output like a program's.
"""

from __future__ import annotations

import base64
import importlib
import importlib.util
import json
import os
import shlex
import shutil
import signal
import socket
import sys
import traceback
import warnings
from types import FrameType
from typing import Any

sys.path.pop(0)  # the folder of this file is nobody's to import from; that of the cells comes first, but only for them

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

_MOST_FRAMES, _LONGEST_MESSAGE = 8, 2_000
_PICTURES = ("image/png", "image/jpeg")
_LARGEST_PICTURE, _MOST_PICTURES = 5_000_000, 8
_TRANSFORMS_OFF = {"classic_prompt", "ipython_prompt"}
"""What would make a command of a line that looks like text."""


class Channel:
    """The socket to the workbench."""

    def __init__(self, number: int) -> None:
        os.set_inheritable(number, False)
        self._socket = socket.socket(fileno=number)
        self._lines = self._socket.makefile("rb")
        self.pictures = 0

    def requests(self) -> Any:
        """One after the other, until the workbench is gone."""
        for line in self._lines:
            self.pictures = 0
            yield json.loads(line)

    def send(self, message: dict[str, Any]) -> None:
        """One message."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def show(self, bundle: dict[str, Any]) -> None:
        """A value: as a picture where it has one, otherwise as text."""
        kind = next((kind for kind in _PICTURES if kind in bundle), None)
        if kind is None:
            _print(str(bundle.get("text/plain", "")))
            return
        data = bundle[kind]
        text = data if isinstance(data, str) else base64.b64encode(data).decode()
        if len(text) > _LARGEST_PICTURE * 4 // 3 or self.pictures >= _MOST_PICTURES:
            _print(f"[a picture was left out: at most {_MOST_PICTURES}, of {_LARGEST_PICTURE // 10**6} MB]")
            return
        self.pictures += 1
        _print(f"[picture {self.pictures}]")
        self.send({"image": text.replace("\n", ""), "type": kind})


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Publisher(DisplayPublisher):  # type: ignore[misc]
    """Where `display()` goes."""

    def publish(self, data: dict[str, Any], *args: Any, **more: Any) -> None:
        """Show it."""
        self.shell.channel.show(data)


class ValueHook(DisplayHook):  # type: ignore[misc]
    """Where the value of a cell's last line goes."""

    def write_output_prompt(self) -> None:
        """There is none."""

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        """Show it."""
        self.shell.channel.show(format_dict)

    def finish_displayhook(self) -> None:
        """Nothing follows the value."""
        sys.stdout.flush()


class Shell(InteractiveShell):  # type: ignore[misc]
    """An IPython without a terminal; its errors are told in the answer, not printed."""

    channel: Channel

    def init_history(self) -> None:
        """Nothing is kept on disk."""
        self.config.HistoryManager.enabled = False
        self.config.HistoryAccessor.enabled = False
        super().init_history()

    def init_sys_path(self) -> None:
        """The directory of the cells is added when all of IPython is loaded."""

    def showtraceback(self, *args: Any, **more: Any) -> None:
        """The answer has it."""

    showsyntaxerror = showindentationerror = show_usage_error = showtraceback

    def system(self, command: str) -> None:
        """A shell command, its output as it comes."""
        sys.stdout.flush()
        self.system_raw(command)

    def ask_exit(self) -> None:
        """`exit` and `quit`."""
        raise SystemExit(0)

    def enable_gui(self, gui: Any = None) -> None:
        """There is no window to open."""


def open_shell(channel: Channel) -> Shell:
    """The shell, ready to run cells."""
    warnings.filterwarnings("ignore", message="To exit: use")
    shell: Shell = Shell.instance(
        display_pub_class=Publisher, displayhook_class=ValueHook, automagic=False, colors="NoColor"
    )
    shell.channel = channel
    shell.display_formatter.active_types = ["text/plain", *_PICTURES]
    transforms = shell.input_transformer_manager.cleanup_transforms
    kept = [each for each in transforms if getattr(each, "__name__", type(each).__name__) not in _TRANSFORMS_OFF]
    transforms[:] = [each for each in kept if type(each).__name__ != "PromptStripper"]
    shell.register_magic_function(lambda line: _pip(shell, line), "line", "pip")
    return shell


def _pip(shell: Shell, line: str) -> None:
    """`%pip` of this very interpreter; with uv where it has no pip of its own. What is not ours goes elsewhere."""
    words = shlex.split(line)
    private = os.environ.get("OHW_CELL_PACKAGES", "")
    if words[:1] == ["install"] and private:
        words[1:1] = ["--target", private]
    if importlib.util.find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", *words]
    elif shutil.which("uv"):
        command = ["uv", "pip", words[0] if words else "--help", "--python", sys.executable, *words[1:]]
    else:
        raise RuntimeError("this interpreter has no pip and there is no uv; `python -m ensurepip` may help")
    sys.stdout.flush()
    shell.system_raw(shlex.join(command))
    if shell.user_ns.get("_exit_code"):
        raise RuntimeError(f"pip ended with exit code {shell.user_ns['_exit_code']}")
    importlib.invalidate_caches()


def told(error: BaseException | None) -> str:
    """An error with the places in the person's code that led to it; empty for none."""
    if error is None:
        return ""
    if isinstance(error, SystemExit):
        return f"SystemExit: {error.code} (the interpreter stays; restart begins anew)"
    name = type(error).__name__
    try:
        said = str(error)[:_LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001 - the code of a stranger
        said = "(its text cannot be made)"
    last = f"{name}: {said}" if said else name
    if isinstance(error, SyntaxError):
        where = f"line {error.lineno}: {(error.text or '').strip()}\n" if error.lineno else ""
        return f"{where}{name}: {error.msg}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    if len(frames) > _MOST_FRAMES:
        half = _MOST_FRAMES // 2
        lines = [*_places(frames[:half]), f"  … {len(frames) - _MOST_FRAMES} more calls …", *_places(frames[-half:])]
    else:
        lines = _places(frames)
    return "\n".join([*lines, last])


def _is_ours(file: str) -> bool:
    return file == __file__ or f"{os.sep}IPython{os.sep}" in file


def _places(frames: list[traceback.FrameSummary]) -> list[str]:
    return [f"  {_file(frame.filename)}, line {frame.lineno}: {(frame.line or '').strip()[:200]}" for frame in frames]


def _file(name: str) -> str:
    """A cell has a file name that says nothing."""
    is_cell = name.startswith("<ipython-input") or "/ipykernel_" in name
    return "cell" if is_cell else name


def main() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel = Channel(int(sys.argv[1]))
    private = os.environ.get("OHW_CELL_PACKAGES")
    sys.argv[:] = [""]
    shell = open_shell(channel)
    # Only now, and only for the cells: what IPython itself imports must not be modules of the directory.
    sys.path[:0] = ["", *([private] if private else [])]
    channel.send({"id": 0, "python": sys.executable})
    for request in channel.requests():
        channel.send({"id": request["id"], **_run(shell, request["code"])})


def _run(shell: Shell, code: str) -> dict[str, Any]:
    """One cell; C-c reaches only what it runs."""
    signal.signal(signal.SIGINT, _interrupted)
    error: BaseException | None
    try:
        result = shell.run_cell(code, store_history=True)
        error = result.error_before_exec or result.error_in_exec
    except BaseException as found:  # noqa: BLE001 - whatever a cell raises is its answer
        error = found
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    return {"error": told(error), "count": shell.execution_count - 1, "folder": _folder()}


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""


if __name__ == "__main__":
    main()
