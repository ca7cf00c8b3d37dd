"""Rules that allow, ask about or deny actions: files, patterns, matching, and the policy of each mode."""
