"""What is said of actions and changes, as lines and pieces of text; pure, no textual."""
