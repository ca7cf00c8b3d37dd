"""A longer run by hand: `python -m tests.risk.fuzz SEED COUNT` prints what the analysis missed."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from tests.risk.fuzz.compare import PLACES, differences
from tests.risk.fuzz.grammar import Grammar
from tests.risk.fuzz.real_bash import commands_run
from workbench.risk.commands import assess_command


def main(seed: int, count: int) -> None:
    """Compare this number of lines."""
    grammar = Grammar(Random(seed))
    lines = [grammar.line() for _ in range(count)]
    with tempfile.TemporaryDirectory() as directory:
        ran = commands_run(lines, Path(directory))
    mismatches = differences(lines, ran)
    for each in sorted(mismatches, key=lambda each: len(each.line)):
        print(f"--- {each.risk}{' unsure' if each.unsure else ''} {each.ran!r}\n{each.line}\n")  # noqa: T201
    ratings = Counter(assess_command(line, PLACES).risk for line in lines)
    print(f"silent {sum(not each.unsure for each in mismatches)}, low {sum(each.risk == 'LOW' for each in mismatches)}")  # noqa: T201
    print(f"{len(mismatches)} of {count} lines differ; {sum(map(len, ran))} commands ran; {dict(ratings)}")  # noqa: T201


main(int(sys.argv[1]), int(sys.argv[2]))
