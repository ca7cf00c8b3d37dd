"""Questions to the user without a screen: what is asked, what was answered, which rule would fit."""
