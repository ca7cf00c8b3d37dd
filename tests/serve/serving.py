"""A running `ohw serve`, and what its page contains, for tests with and without a browser."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.sandbox import Sandbox


@contextmanager
def serving(sandbox: Sandbox, *args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a running `ohw serve` and the link that it has printed."""
    process = sandbox.start("serve", "--port", "0", *args)
    try:
        lines = iter(process.stdout.readline, "")
        yield process, next(line.strip() for line in lines if "http://" in line)
    finally:
        process.terminate()
        process.communicate()


def protocols(page: str) -> tuple[str, str]:
    """Return the protocols that the script of this page offers for its connection; one is the key in the page."""
    key = re.search('data-key="(.+?)"', page)
    assert key is not None
    return "ohw", key[1]
