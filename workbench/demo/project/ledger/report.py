"""Reads a book and reports its balance."""

from ledger.amounts import format_amount, parse_amount


def balance(book: str) -> int:
    """The sum of all bookings, in cents."""
    lines = [line for line in book.splitlines() if line.strip()]
    return sum(parse_amount(line.split()[-1]) for line in lines)


def report(book: str) -> str:
    """One line for the user."""
    return f"balance: {format_amount(balance(book))}"
