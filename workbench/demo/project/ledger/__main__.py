"""`python3 -m ledger FILE` prints the balance of a book."""

import sys
from pathlib import Path

from ledger.report import report

if __name__ == "__main__":
    print(report(Path(sys.argv[1]).read_text(encoding="utf-8")))
