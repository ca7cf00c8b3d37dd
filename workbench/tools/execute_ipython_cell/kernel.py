"""The program of `execute_ipython_cell`: an IPython that receives cells over a socket; `impl` runs it as a script.

It runs in the workspace's interpreter, so it imports only IPython and the standard library. A request is a line `{"id",
"code"}`, its answer `{"id", "error", "count", "folder"}`; images are sent before the answer as `{"image": base64,
"type"}`. The output of cells goes to standard output.
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

sys.path.pop(0)  # nothing may be imported from this file's directory; main() adds that of the cells

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

_MOST_FRAMES, _LONGEST_MESSAGE = 8, 2_000
_PICTURES = ("image/png", "image/jpeg")
_LARGEST_PICTURE, _MOST_PICTURES = 5_000_000, 8
_TRANSFORMS_OFF = {"classic_prompt", "ipython_prompt"}
"""Input transformers that would change lines that look like prompts."""

_PIP_COMMANDS = ("install", "uninstall", "sync", "list", "show", "freeze", "check", "tree")
"""The commands of `%pip` that need to know the interpreter."""
_PIP_CHANGES = ("install", "uninstall", "sync")
"""The commands of `%pip` that change an environment."""
_PIP_VALUE_OPTIONS = (
    *("--python", "--log", "--log-file", "--proxy", "--retries", "--timeout", "--exists-action", "--trusted-host"),
    *("--cert", "--client-cert", "--cache-dir", "--use-feature", "--use-deprecated", "--keyring-provider"),
)
"""Options that may precede pip's command and whose value is the next word."""


class Channel:
    """The connection to the workbench."""

    def __init__(self, number: int) -> None:
        os.set_inheritable(number, False)
        self._socket = socket.socket(fileno=number)
        self._lines = self._socket.makefile("rb")
        self.pictures = 0

    def requests(self) -> Any:
        """Yield requests until the workbench closes the connection."""
        for line in self._lines:
            self.pictures = 0
            yield json.loads(line)

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def show(self, bundle: dict[str, Any]) -> None:
        """Send a value as an image if it has one; otherwise print it as text."""
        kind = next((kind for kind in _PICTURES if kind in bundle), None)
        if kind is None:
            _print(str(bundle.get("text/plain", "")))
            return
        data = bundle[kind]
        text = data if isinstance(data, str) else base64.b64encode(data).decode()
        if len(text) > _LARGEST_PICTURE * 4 // 3 or self.pictures >= _MOST_PICTURES:
            _print(f"[a picture was omitted: at most {_MOST_PICTURES}, of {_LARGEST_PICTURE // 10**6} MB]")
            return
        self.pictures += 1
        _print(f"[picture {self.pictures}]")
        self.send({"image": text.replace("\n", ""), "type": kind})


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Publisher(DisplayPublisher):  # type: ignore[misc]
    """Receives the values of `display()`."""

    def publish(self, data: dict[str, Any], *args: Any, **more: Any) -> None:
        """Send or print the value."""
        self.shell.channel.show(data)


class ValueHook(DisplayHook):  # type: ignore[misc]
    """Receives the value of a cell's last line."""

    def write_output_prompt(self) -> None:
        """Print no prompt."""

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        """Send or print the value."""
        self.shell.channel.show(format_dict)

    def finish_displayhook(self) -> None:
        """Flush the output."""
        sys.stdout.flush()


class CellShell(InteractiveShell):  # type: ignore[misc]
    """An IPython without a terminal; errors are reported in the answer, not printed."""

    channel: Channel

    def init_history(self) -> None:
        """Disable the history on disk."""
        self.config.HistoryManager.enabled = False
        self.config.HistoryAccessor.enabled = False
        super().init_history()

    def init_sys_path(self) -> None:
        """Do nothing: `main` adds the directory of the cells once IPython is loaded."""

    def showtraceback(self, *args: Any, **more: Any) -> None:
        """Print nothing: the answer contains the error."""

    showsyntaxerror = showindentationerror = show_usage_error = showtraceback

    def system(self, command: str) -> None:
        """Run a shell command; its output is not captured."""
        sys.stdout.flush()
        self.system_raw(command)

    def ask_exit(self) -> None:
        """Raise SystemExit, for `exit` and `quit`."""
        raise SystemExit(0)

    def enable_gui(self, gui: Any = None) -> None:
        """Do nothing: there is no window to open."""


def open_shell(channel: Channel) -> CellShell:
    """Return the shell, ready to run cells."""
    warnings.filterwarnings("ignore", message="To exit: use")
    shell: CellShell = CellShell.instance(
        display_pub_class=Publisher, displayhook_class=ValueHook, automagic=False, colors="NoColor"
    )
    shell.channel = channel
    shell.display_formatter.active_types = ["text/plain", *_PICTURES]
    transforms = shell.input_transformer_manager.cleanup_transforms
    remaining = [each for each in transforms if getattr(each, "__name__", type(each).__name__) not in _TRANSFORMS_OFF]
    transforms[:] = [each for each in remaining if type(each).__name__ != "PromptStripper"]
    shell.register_magic_function(lambda line: _pip(shell, line), "line", "pip")
    return shell


def _pip(shell: CellShell, line: str) -> None:
    """Run `%pip` for this interpreter, with uv if it has no pip; install into the private directory if there is one."""
    command = _pip_command(shlex.split(line))
    sys.stdout.flush()
    shell.system_raw(shlex.join(command))
    if shell.user_ns.get("_exit_code"):
        raise RuntimeError(f"pip ended with exit code {shell.user_ns['_exit_code']}")
    importlib.invalidate_caches()


def _pip_command(words: list[str]) -> list[str]:
    """Return the command of `%pip WORDS`. Options before pip's own command are moved after it, where uv takes them."""
    at = _command_at(words)
    command = words[at] if at < len(words) else ""
    private = os.environ.get("OHW_CELL_PACKAGES", "") if command in _PIP_CHANGES else ""
    has_pip = importlib.util.find_spec("pip") is not None
    if has_pip and private and command != "install":
        raise RuntimeError("pip can only install here, because this is the interpreter of the workbench")
    if command in _PIP_COMMANDS:
        words = [command, *(["--target", private] if private else []), *words[:at], *words[at + 1 :]]
    if has_pip:
        return [sys.executable, "-m", "pip", *words]
    if not shutil.which("uv"):
        raise RuntimeError("this interpreter has no pip and there is no uv; `python -m ensurepip` may help")
    if not command and {"--version", "-V"} & {*words}:
        return ["uv", "--version"]
    if command == "help" or not words:
        return ["uv", "pip", *words[at + 1 :], "--help"]
    if command in _PIP_COMMANDS:
        return ["uv", "pip", command, "--python", sys.executable, *words[1:]]
    return ["uv", "pip", *words]


def _command_at(words: list[str]) -> int:
    """Return the index of pip's command, which is the first word that is no option and no option's value."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _PIP_VALUE_OPTIONS else 1
    return at


def error_text(error: BaseException | None) -> str:
    """Return an error with the lines of the user's code that led to it; empty for None."""
    if error is None:
        return ""
    if isinstance(error, SystemExit):
        return f"SystemExit: {error.code} (the interpreter stays; restart replaces it)"
    name = type(error).__name__
    try:
        message = str(error)[:_LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001 - the code of a stranger
        message = "(its text cannot be made)"
    last = f"{name}: {message}" if message else name
    if isinstance(error, SyntaxError):
        where = f"line {error.lineno}: {(error.text or '').strip()}\n" if error.lineno else ""
        return f"{where}{name}: {error.msg}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    if len(frames) > _MOST_FRAMES:
        half = _MOST_FRAMES // 2
        lines = [
            *_frame_lines(frames[:half]),
            f"  … {len(frames) - _MOST_FRAMES} more calls …",
            *_frame_lines(frames[-half:]),
        ]
    else:
        lines = _frame_lines(frames)
    return "\n".join([*lines, last])


def _is_ours(file: str) -> bool:
    return file == __file__ or f"{os.sep}IPython{os.sep}" in file


def _frame_lines(frames: list[traceback.FrameSummary]) -> list[str]:
    return [f"  {_file(frame.filename)}, line {frame.lineno}: {(frame.line or '').strip()[:200]}" for frame in frames]


def _file(name: str) -> str:
    """Return a file's name, or "cell" for the generated name of a cell."""
    is_cell = name.startswith("<ipython-input") or "/ipykernel_" in name
    return "cell" if is_cell else name


def main() -> None:
    """Answer requests until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getpgrp() != os.getpid():
        # An interrupt is sent to the process group, which must not include the sandbox around this program.
        os.setpgid(0, 0)
    channel = Channel(int(sys.argv[1]))
    private = os.environ.get("OHW_CELL_PACKAGES")
    sys.argv[:] = [""]
    shell = open_shell(channel)
    # Added only now, for the cells: IPython's own imports must not find modules in the working directory.
    sys.path[:0] = ["", *([private] if private else [])]
    channel.send({"id": 0, "python": sys.executable})
    for request in channel.requests():
        channel.send({"id": request["id"], **_run(shell, request["code"])})


def _run(shell: CellShell, code: str) -> dict[str, Any]:
    """Run one cell; SIGINT is ignored except while its code runs."""
    signal.signal(signal.SIGINT, _interrupted)
    error: BaseException | None
    try:
        result = shell.run_cell(code, store_history=True)
        error = result.error_before_exec or result.error_in_exec
    except BaseException as raised:  # noqa: BLE001 - whatever a cell raises is reported in its answer
        error = raised
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    return {"error": error_text(error), "count": shell.execution_count - 1, "folder": _working_directory()}


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""


if __name__ == "__main__":
    main()
