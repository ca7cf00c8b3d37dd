"""What "always" offers, for tests."""

from workbench.protocol.risk import Risk
from workbench.rules.offers import AlwaysOffer, offers
from workbench.rules.rule import Rule
from workbench.rules.subject import Subject


def offered(subject: Subject, risk: Risk) -> tuple[AlwaysOffer, ...]:
    return offers(subject, risk, "medium")[0]


def narrowest(subject: Subject, risk: Risk) -> Rule | None:
    """Return the first rule of the narrowest offer, or None if there is no offer."""
    choices = offered(subject, risk)
    return choices[0].rules[0] if choices else None
