"""Rules that allow, ask about or deny actions.

`rule_set.RuleSet` reads them, `rule_set.deciding` picks the rule that decides a `subject.Subject`, and `policy.rule_on`
combines this rule with the mode into a ruling. Commands and paths come from the rating in `risk`; this package does not
depend on sessions.
"""
