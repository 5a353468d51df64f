"""What mypy reads: `dataclass` is the standard library's, and `frozen` makes what nobody changes."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass  # noqa: TID251
from typing import TypeVar, overload

from typing_extensions import dataclass_transform

__all__ = ["dataclass", "frozen"]

C = TypeVar("C", bound=type)

@overload
def frozen(cls: C) -> C: ...
@overload
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(*, kw_only: bool = False, slots: bool = False) -> Callable[[C], C]: ...
