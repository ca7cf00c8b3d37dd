"""Cost of masking secrets in a text, streamed and whole: all output of tools passes through it."""

from __future__ import annotations

import time
from pathlib import Path

from tests.bench.measure import Measure
from workbench.secrets.masker import SecretMasker

_SIZE = 100_000
_LIMIT = 1.5
_TRIES = 15


def measures() -> list[Measure]:
    """Milliseconds for 100 kB of a program's text and of a log, with some values known; the slower counts."""
    secrets = SecretMasker()
    for number in range(6):
        secrets.add(f"KEY_{number}", f"abc-{number}-0123456789-xyz")
    slowest = max(_took(secrets, text) for text in (_program(), _log()))
    return [Measure("secrets: 100 kB of a program or a log", slowest, "ms", None, _LIMIT, slowest <= _LIMIT)]


def _program() -> str:
    return (Path(__file__).parent.parent / "contracts" / "test_program.py").read_text().ljust(5_000)[:5_000] * (
        _SIZE // 5_000
    )


def _log() -> str:
    line = "2026-11-21 10:00:00 INFO worker[{0}] task-{0} is done in {0} ms https://example.org/a?b={0}\n"
    return "".join(line.format(number) for number in range(_SIZE // 60))[:_SIZE]


def _took(secrets: SecretMasker, text: str) -> float:
    times = []
    for _ in range(_TRIES):
        begun = time.process_time()
        secrets.masked(text)
        times.append((time.process_time() - begun) * 1e3)
    return min(times)
