"""Detection and masking of secrets in everything that is shown, stored or sent."""
