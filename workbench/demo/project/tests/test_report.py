import unittest

from ledger.amounts import format_amount, parse_amount
from ledger.report import balance, report

BOOK = """\
2026-01-03  Rent           -850.00
2026-01-05  Salary        2,400.00
"""


class AmountsTest(unittest.TestCase):
    def test_thousands(self):
        self.assertEqual(parse_amount("2,400.00"), 240000)

    def test_nonsense_is_refused(self):
        with self.assertRaises(ValueError):
            parse_amount("twelve")

    def test_format(self):
        self.assertEqual(format_amount(-85000), "-850.00")


class ReportTest(unittest.TestCase):
    def test_spending_lowers_the_balance(self):
        self.assertEqual(balance(BOOK), 155000)

    def test_report(self):
        self.assertEqual(report("2026-01-05  Gift  10.00"), "balance: 10.00")


if __name__ == "__main__":
    unittest.main()
