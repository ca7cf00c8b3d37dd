"""`python -m tests.bench [AREA …]`: prints every measure with its limit; exit code 1 if one is over its limit."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.measure import Measure


def main(areas: Sequence[str]) -> int:
    """Run the named areas (`start`, `session`, …), or all of them."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*_bench.py"))
    chosen = [name for name in names if not areas or name.removesuffix("_bench") in areas]
    if not chosen:
        known = ", ".join(name.removesuffix("_bench") for name in names)
        sys.stderr.write(f"no such area; there are {known}\n")
        return 2
    print(f"{'what':<58}{'value':>12}{'reference':>14}{'limit':>12}")
    results: list[Measure] = []
    for name in chosen:
        for measure in importlib.import_module(f"tests.bench.{name}").measures():
            results.append(measure)
            print(_row(measure), flush=True)
    over = sum(not measure.ok for measure in results)
    print(f"\n{len(results)} measures, {over} over their limit")
    return 1 if over else 0


def _row(measure: Measure) -> str:
    verdict = "ok" if measure.ok else "OVER"
    reference, budget = _number(measure.reference), _number(measure.budget)
    return f"{measure.name:<58}{_number(measure.value):>12}{reference:>14}{budget:>12} {measure.unit:<6}{verdict}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
