"""The `ohw` command: runs the function of a command, reports an error in one line, and returns the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from workbench import __version__
from workbench.cli import function_of
from workbench.errors import UsageError, WorkbenchError, exhaustion


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; report a WorkbenchError or a failed write in one line on stderr.

    `argv` are the arguments, by default those of the process.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if None in (sys.stdin, sys.stdout, sys.stderr):
            _refuse_closed_streams(words)
        code = _dispatch(words)
        sys.stdout.flush()  # while a failure can still be reported
        return code
    except WorkbenchError as error:
        _complain(error)
        return error.exit_code
    except BrokenPipeError:
        _discard_stdout()
        return 141
    except (OSError, MemoryError, RuntimeError, ImportError) as error:
        if isinstance(error, OSError) and _is_stdout_failing():
            _discard_stdout()
            _complain(WorkbenchError(f"standard output cannot be written: {error.strerror}"))
        elif reason := exhaustion(error) or (_lost_directory() if isinstance(error, OSError) else ""):
            _complain(WorkbenchError(reason))
        else:
            raise
        return 1
    except KeyboardInterrupt:
        return 130


def _refuse_closed_streams(words: list[str]) -> None:
    """Replace closed standard streams with the null device. Raises UsageError if the user could not
    see the output then.
    """
    from workbench.plain.output import replace_closed_streams

    closed = replace_closed_streams()
    if "standard output" in closed:
        raise UsageError("standard output is closed; redirect it to a file, or to /dev/null if it is not needed")
    if closed and "run" in words and "--json" not in words:
        sys.stdout.write("ohw: standard error is closed, so the run could not be followed; redirect it to a file\n")
        raise UsageError("standard error is closed")


def _is_stdout_failing() -> bool:
    """Return whether standard output caused the failure: if so, flushing what is still buffered fails again."""
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _lost_directory() -> str:
    """Return what to do if the current directory was deleted or cannot be accessed; empty if it is fine."""
    try:
        os.getcwd()  # noqa: PTH109 - `Path.cwd` is the same, after an import
    except OSError as error:
        return f"the current directory cannot be used ({error.strerror}); change to another one"
    return ""


def _discard_stdout() -> None:
    """Discard the buffered output, so that writing it at exit does not fail again."""
    from workbench.plain.output import discard_output

    discard_output(sys.stdout.buffer)


def _dispatch(words: list[str]) -> int:
    if words == ["--version"]:
        sys.stdout.write(f"ohw {__version__}\n")
        return 0
    if "_ARGCOMPLETE" in os.environ:  # set by the script of `ohw completion`
        from workbench.cli.completion import complete

        complete()
    # Imported late, because `--version` needs no parser.
    from workbench.cli.arguments import parse

    try:
        command, arguments = parse(words)
    except SystemExit:
        sys.stdout.flush()  # the help is printed; a failure of that can still be reported
        raise
    from workbench.files.state_files import on_own_write

    on_own_write(_sign_write)
    return function_of(command)(arguments)


def _sign_write(path: str, digest: bytes) -> None:
    """Sign a write to the user's files, so that no engine attributes it to a command of an agent."""
    # Imported late, because most commands write none of these files.
    from workbench.session.storage.signed_writes import sign_write

    sign_write(path, digest)


def _complain(error: WorkbenchError) -> None:
    try:
        from workbench.text import visible

        line = visible(str(error), lines=False)
    except (MemoryError, ImportError):  # no further module can be loaded
        line = ascii(str(error))[1:-1]
    try:
        sys.stderr.write(f"ohw: {line}\n")
        sys.stderr.flush()
    except OSError:  # otherwise Python fails at exit, with its own exit code
        from workbench.plain.output import discard_output

        discard_output(sys.stderr.buffer)


if __name__ == "__main__":
    sys.exit(main())
