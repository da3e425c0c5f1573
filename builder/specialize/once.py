"""Results that an object keeps while it lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class Keeper(Protocol):
    """What keeps results: what of it changes is no part of them, or one of the other arguments."""

    derived: dict[Any, Any]


K = TypeVar("K", bound=Keeper)
P = ParamSpec("P")
T = TypeVar("T")


def once(find: Callable[Concatenate[K, P], T]) -> Callable[Concatenate[K, P], T]:
    """Make a function find a result once for its first argument, which keeps it."""

    @wraps(find)
    def asked(keeper: K, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (find, *args)
        if key not in keeper.derived:
            keeper.derived[key] = find(keeper, *args, **kwargs)
        found: T = keeper.derived[key]
        return found

    return asked
