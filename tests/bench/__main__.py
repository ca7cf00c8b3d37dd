"""`python -m tests.bench [AREA …]` prints every measure with its limit; exit code 1 if one is over its limit or worse
than in the run of `--against`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.bench.runs import BUSY, Result, areas, change, results_of

QUICK = ("editor", "schema", "secrets", "text_calls")
"""Areas that take ten seconds together, which `.ci/run` reports."""
CAMPAIGNS = ("kill", "soak")
"""Areas that run only by name, because they look for faults for a long time."""
_MINUTES = 10.0
"""After this time nothing is repeated any more."""


def main(arguments: Sequence[str]) -> int:
    """Run the named areas (`start`, `session`, …), or all but the campaigns."""
    options = _options(arguments)
    chosen = options.areas or (QUICK if options.quick else [area for area in areas() if area not in CAMPAIGNS])
    before = msgspec.json.decode(options.against.read_bytes(), type=dict[str, Result]) if options.against else {}
    until, results = time.monotonic() + 60 * _MINUTES, dict[str, Result]()
    print(f"{'what':<58}{'value':>10}{'ratio':>8}{'limit':>10}         {'spread':<8}change")
    for area in chosen:
        for result in results_of(area, until):
            results[result.measure.name] = result
            print(_row(result, before.get(result.measure.name)), flush=True)
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    return _summary(results, before)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("areas", nargs="*", metavar="AREA", help=", ".join(areas()))
    parser.add_argument("--quick", action="store_true", help="only the areas that take a few seconds")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with results that --json wrote")
    options = parser.parse_args(arguments)
    if unknown := set(options.areas) - set(areas()):
        parser.error(f"no such area: {', '.join(sorted(unknown))}; there are {', '.join(areas())}")
    return options


def _row(result: Result, before: Result | None) -> str:
    measure = result.measure
    verdict = "ok" if measure.ok else "OVER"
    spread = "-" if result.spread is None else f"±{result.spread / 2:.0%}"
    changed = change(result, before) if before else None
    text = f"{changed[0]:+.0%}{' WORSE' if changed[1] else ''}" if changed else "-"
    busy = "busy" if (result.pressure or 0) > BUSY else ""
    numbers = f"{_number(measure.value):>10}{_number(measure.ratio):>8}{_number(measure.budget):>10}"
    return f"{measure.name:<58}{numbers} {measure.unit:<3}{verdict:<5}{spread:<8}{text:<11}{busy}".rstrip()


def _summary(results: dict[str, Result], before: dict[str, Result]) -> int:
    over = sum(not result.measure.ok for result in results.values())
    changes = [change(result, before[name]) for name, result in results.items() if name in before]
    worse = sum(changed[1] for changed in changes if changed)
    busy = sum((result.pressure or 0) > BUSY for result in results.values())
    print(f"\n{len(results)} measures: {over} over their limit, {worse} worse than before, {busy} on a busy machine")
    return 1 if over or worse else 0


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
