"""Sub-agents: sessions of their own, driven inside an action of their parent."""
