"""Rules that allow, ask about or deny actions.

`rule_set.RuleSet` reads them, `rule_set.deciding` picks the rule for a `subject.Subject`, and `policy.rule_on`
combines it with the mode into a ruling. This package gets commands and paths from the rating in `risk`, and knows
nothing of sessions.
"""
