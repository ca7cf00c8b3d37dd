"""`ohw` and `python -m workbench`: remove the current directory from the import path, then run the command."""

import errno
import gc
import os
import sys

# No `from __future__`: that is a module too, which the current directory could provide.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

# httpx loads its own command if it can, with click and rich, which no engine and no run needs.
sys.modules["httpx._main"] = None  # type: ignore[assignment]
_NO_MEMORY = b"ohw: the system refused more memory; close other programs or raise the limit (ulimit -v, ulimit -u)\n"
"""Encoded in advance: `cli` reports a lack of memory too, but cannot when no memory is left at all."""
_LEAST_MEMORY = 128_000_000
"""The bytes of address space that loading the modules needs; with less, libraries in C and Rust may crash or hang."""


def main() -> int:
    """Run one command; return the exit code."""
    try:
        here = os.getcwd()  # noqa: PTH109 - pathlib is more than `--version` has time for
    except OSError:
        here = ""
    if here:
        sys.path[:] = without_workspace(sys.path, here, os.environ.get("PYTHONPATH", ""))
    sys.excepthook = _report_crash
    # Imports make 120,000 objects, which stay: a collection before the program is loaded frees nothing.
    gc.set_threshold(200_000)
    try:
        if _is_memory_limit_too_low():
            raise MemoryError
        from workbench.cli.main import main as run  # only now: before, its imports could be modules of that directory

        return run()
    except (MemoryError, SystemError, OSError) as error:
        # If memory runs out during an import, Python's C code fails with an error number, or without an exception.
        is_without_exception = isinstance(error, SystemError) and "without " in str(error)
        is_refused = isinstance(error, MemoryError) or getattr(error, "errno", 0) == errno.ENOMEM
        if not (is_refused or is_without_exception):
            raise
        os.write(2, _NO_MEMORY)
        os._exit(1)  # the interpreter's shutdown needs memory too, and would print that there is none


def _report_crash(kind: type[BaseException], error: BaseException, trace: "TracebackType | None") -> None:
    """Report an unhandled exception in one line and a file; if that fails, print the traceback."""
    try:
        from workbench.cli.crash import print_crash

        print_crash(error)
    except (ImportError, MemoryError, OSError):
        sys.__excepthook__(kind, error, trace)


def _is_memory_limit_too_low() -> bool:
    """Return whether the memory limit is too low to load the modules.

    It is checked in advance, because Python's compiler fails with many different exceptions for lack of memory.
    """
    try:
        import resource
    except ImportError:  # the library could not be mapped
        return True
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return limit != resource.RLIM_INFINITY and limit < _LEAST_MEMORY


def without_workspace(entries: list[str], cwd: str, python_path: str) -> list[str]:
    """Return the import path without the entries that come from the current directory, `cwd`.

    These are the directory itself (added by `python -m` and by an empty entry of PYTHONPATH) and the entries of
    PYTHONPATH inside it. If our own package is in the directory, its entry is moved to the end, where it hides no other
    module.
    """
    here = os.path.realpath(cwd)
    ours = os.path.realpath(__file__).rpartition("/workbench/")[0]
    named = {os.path.realpath(each) for each in python_path.split(os.pathsep)} if python_path else set()
    others, last = [], []
    for entry in entries:
        real = os.path.realpath(entry)
        if real == ours and real.startswith(here):
            last = [ours]
        elif real != here and not (real in named and real.startswith(here.rstrip(os.sep) + os.sep)):
            others.append(entry)
    return [*others, *last]


if __name__ == "__main__":
    sys.exit(main())
