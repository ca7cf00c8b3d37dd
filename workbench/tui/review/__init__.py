"""What a person does with changes: look at them in a scope, search, comment, take back. The diff viewer uses it."""
