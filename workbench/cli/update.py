"""`ohw update` says how this installation is updated; with --check, also whether there is a newer version.

Nothing else in ohw checks for updates, and without --check this command makes no request either.
"""

from __future__ import annotations

import json
import re
import sys
import time
from argparse import Namespace
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import httpx

from workbench import __version__
from workbench.cli.common import print_line
from workbench.errors import WorkbenchError
from workbench.text import visible

INDEX = "https://pypi.org/pypi/{}/json"
"""The JSON API of the Python Package Index (docs.pypi.org/api/json)."""
_NAME = "workbench"
_SECONDS = 10.0
_MOST_BYTES = 20_000_000
_SOURCE = "`git pull` and the installation again, in the directory or repository that it is from"


@dataclass(frozen=True)
class InstalledPackage:
    """How ohw was installed: by which program, and from which source if that is not a package index."""

    installer: str = ""
    source: str = ""
    summary: str = ""

    @property
    def command(self) -> str:
        """The command, or instruction, that updates the installation."""
        if self.source:
            return _SOURCE
        prefix = f"{sys.prefix}/"
        if "/uv/tools/" in prefix:
            return f"`uv tool upgrade {_NAME}`"
        if "/pipx/venvs/" in prefix:
            return f"`pipx upgrade {_NAME}`"
        return f"`{'uv pip' if self.installer == 'uv' else 'python -m pip'} install --upgrade {_NAME}`"


def update(arguments: Namespace) -> int:
    """Print the version and how to update it; with --check, also the newest version.

    Raises WorkbenchError if that cannot be determined.
    """
    here = installation()
    if here.source:
        print_line(visible(f"ohw {__version__}, installed from {here.source}", lines=False))
        what = "There is no index to ask about it; it" if arguments.check else "It"
        print_line(f"{what} is updated with {here.command}.")
        return 0
    if not arguments.check:
        print_line(
            f"ohw {__version__}. It is updated with {here.command}; --check asks whether there is a newer version."
        )
        return 0
    newest = _newest(here)
    if _numbers(newest) > _numbers(__version__):
        print_line(f"ohw {__version__}; there is {newest}. Update with {here.command}.")
    else:
        print_line(f"ohw {__version__} is the newest version.")
    return 0


def installation() -> InstalledPackage:
    """Return how ohw was installed, according to the installer's records (PEP 376, PEP 610)."""
    try:
        package = metadata.distribution(_NAME)
    except metadata.PackageNotFoundError:
        return InstalledPackage(source="source code without an installation")
    installer = (package.read_text("INSTALLER") or "").strip()
    record = json.loads(package.read_text("direct_url.json") or "{}")
    return InstalledPackage(installer, _without_login(str(record.get("url", ""))), str(package.metadata["Summary"]))


def _without_login(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)


def _newest(here: InstalledPackage) -> str:
    """Ask the package index for the newest version, with one request. Raises WorkbenchError if that fails."""
    url = INDEX.format(_NAME)
    try:
        answer = json.loads(_get(url))
        info: dict[str, Any] = answer["info"]
        version, summary = str(info["version"]), str(info["summary"])
    except (httpx.HTTPError, OSError) as error:
        raise WorkbenchError(f"cannot ask {url}: {str(error) or type(error).__name__}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise WorkbenchError(f"{url} does not answer like a package index") from error
    # Of another project with that name, a version says nothing, and an update would install that project.
    if summary != here.summary:
        raise WorkbenchError(
            f"{url} is about another project, so ohw was installed from an index of yours; ask that one"
        )
    if not _numbers(version):
        raise WorkbenchError(f"{url} names a version that cannot be compared: {visible(version[:40], lines=False)}")
    return version


def _get(url: str) -> bytes:
    """Fetch a URL and return the body. Raises httpx.HTTPError and OSError; never follows a redirect."""
    body, until = bytearray(), time.monotonic() + _SECONDS
    with httpx.stream("GET", url, timeout=_SECONDS, headers={"User-Agent": f"ohw/{__version__}"}) as response:
        if response.status_code != httpx.codes.OK:
            raise OSError(f"HTTP {response.status_code}")
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > _MOST_BYTES or time.monotonic() > until:
                raise OSError("the response is too long")
    return bytes(body)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a release version; empty for anything else, such as a pre-release."""
    return tuple(map(int, version.split("."))) if re.fullmatch(r"\d{1,6}(\.\d{1,6}){0,3}", version) else ()
