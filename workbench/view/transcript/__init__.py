"""A session as a document: Markdown, HTML and the entries they are made of."""
