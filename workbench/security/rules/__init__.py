"""Rules of the person: what is allowed, asked about or denied by tool, command and path; loads nothing slow."""
