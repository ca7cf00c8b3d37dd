"""Builds a wheel of the running program, so that another machine can install the same version without a package index.

The source is the running installation or checkout. For the format, see
https://packaging.python.org/specifications/binary-distribution-format.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from workbench import __version__
from workbench.errors import WorkbenchError

_NAME = "workbench"
WHEEL_NAME = f"{_NAME}-{__version__}-py3-none-any.whl"
_INFO = f"{_NAME}-{__version__}.dist-info"
_WHEEL = "Wheel-Version: 1.0\nGenerator: ohw\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_COPIED = (f"{_NAME}/", f"{_INFO}/METADATA", f"{_INFO}/entry_points.txt", f"{_INFO}/licenses/")
_PACKAGE = (
    "**/*.py",
    "py.typed",
    "guide/*.md",
    "tui/**/*.tcss",
    "view/transcript/page.*",
    "serve/tab.*",
    "batch/report.css",
    "llm/scripted/scripts/*.toml",
    "demo/project/*.md",
    "demo/project/book.txt",
    "demo/project/gitignore",
)
"""The files of a checkout that belong to the package; an installation has its own list of files."""
_DATE = (2020, 2, 2, 0, 0, 0)
"""The date of each file in the wheel, the same as hatchling's: the same program always results in the same wheel."""


def write_wheel(file: IO[bytes]) -> None:
    """Write the wheel to `file`. Raises WorkbenchError if this program is not installed as a package, and OSError."""
    record = io.StringIO()
    lines = csv.writer(record, lineterminator="\n")
    with ZipFile(file, "w", ZIP_DEFLATED) as wheel:
        for name, data in _contents():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.writerow((name, f"sha256={digest}", len(data)))
            _add(wheel, name, data)
        lines.writerow((f"{_INFO}/RECORD", "", ""))
        _add(wheel, f"{_INFO}/RECORD", record.getvalue().encode())


def _add(wheel: ZipFile, name: str, data: bytes) -> None:
    info = ZipInfo(name, _DATE)
    info.external_attr, info.compress_type = 0o644 << 16, ZIP_DEFLATED
    wheel.writestr(info, data)


def _contents() -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file in the wheel, except RECORD, the list of them."""
    files = _installed_files()
    if f"{_NAME}/__init__.py" not in files:
        files |= _checkout_files()
    for name in sorted(files):
        yield name, files[name].read_bytes()
    yield f"{_INFO}/WHEEL", _WHEEL.encode()


def _checkout_files() -> dict[str, Path]:
    """Return the files in a checkout that belong to the package, by their name in the wheel; other
    files are ignored.
    """
    root = Path(__file__).parents[1]
    relative = {path: path.relative_to(root) for pattern in _PACKAGE for path in root.glob(pattern) if path.is_file()}
    return {
        f"{_NAME}/{name.as_posix()}": path
        for path, name in relative.items()
        if not any(part.startswith(".") for part in name.parts)
    }


def _installed_files() -> dict[str, Path]:
    """Return the installed files that belong in the wheel, by their name in it.

    Raises WorkbenchError if this program is not installed as a package.
    """
    listed = _own_distribution().files or ()
    return {
        str(path): Path(str(path.locate()))
        for path in listed
        if str(path).startswith(_COPIED) and not str(path).endswith(".pyc")
    }


def _own_distribution() -> Distribution:
    try:
        own = distribution(_NAME)
    except PackageNotFoundError:
        raise WorkbenchError("this ohw is not installed as a package, so it cannot be copied") from None
    if own.version != __version__:
        raise WorkbenchError(f"this ohw was installed as {own.version} and is {__version__} now; install it here again")
    return own
