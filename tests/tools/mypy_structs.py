"""A plugin of mypy that rejects functions of `dataclasses` called on structs.

mypy takes a msgspec Struct for a dataclass, because both are declared by `dataclass_transform`, but at run time
`replace`, `asdict`, `astuple` and `fields` raise TypeError and `is_dataclass` returns False. `msgspec.structs` has the
functions for structs.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.errorcodes import CALL_ARG
from mypy.plugin import FunctionContext, Plugin
from mypy.types import CallableType, Instance, Type, TypeType, UnionType, get_proper_type

FUNCTIONS = frozenset(f"dataclasses.{name}" for name in ("replace", "asdict", "astuple", "fields", "is_dataclass"))


class StructPlugin(Plugin):
    """Checks the first argument of these functions."""

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        return _check if fullname in FUNCTIONS else None


def _check(context: FunctionContext) -> Type:
    for argument in context.arg_types[0] if context.arg_types else ():
        if _may_be_struct(argument):
            context.api.fail("A struct is not a dataclass; use msgspec.structs", context.context, code=CALL_ARG)
    return context.default_return_type


def _may_be_struct(of: Type) -> bool:
    proper = get_proper_type(of)
    if isinstance(proper, UnionType):
        return any(map(_may_be_struct, proper.items))
    if isinstance(proper, CallableType) and proper.is_type_obj():
        return _may_be_struct(proper.ret_type)
    if isinstance(proper, TypeType):
        return _may_be_struct(proper.item)
    return isinstance(proper, Instance) and proper.type.has_base("msgspec.Struct")


def plugin(_: str) -> type[Plugin]:
    """Return the plugin; called by mypy."""
    return StructPlugin
