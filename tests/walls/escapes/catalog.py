"""All escapes, in the order in which they are tried."""

from importlib import import_module

from .attempt import REGISTRY

MODULES = (
    *("devices", "files", "hidden", "ipc", "kernel"),
    *("namespaces", "network", "processes", "protected", "terminal"),
)
for name in MODULES:
    import_module(f".{name}", __package__)

NAMES = tuple(REGISTRY)
