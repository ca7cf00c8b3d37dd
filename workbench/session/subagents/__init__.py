"""Sub-agents: sessions whose steps are part of another one."""
