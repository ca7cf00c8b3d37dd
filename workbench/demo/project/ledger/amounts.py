"""Amounts of money, in cents."""

import re

_AMOUNT = re.compile(r"(?P<sign>[-+]?)(?P<whole>\d{1,3}(?:,\d{3})*|\d+)\.(?P<cents>\d{2})")


def parse_amount(text: str) -> int:
    """Cents from text such as "2,400.00" or "-850.00"; raises ValueError for anything else."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"not an amount: {text!r}")
    whole = int(found["whole"].replace(",", ""))
    return whole * 100 + int(found["cents"])


def format_amount(cents: int) -> str:
    """Text from cents, with a sign where it is negative."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100:,}.{abs(cents) % 100:02}"
