"""Triton's interpreter, made right for bfloat16 and 8-bit floats.

Triton 3.5's interpreter keeps bfloat16 as raw 16-bit integers and calculates with the integers. Here the
numbers are widened to float32 before an operation and rounded to nearest even after it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter, jit

_Builder = interpreter.InterpreterBuilder
_Handle = interpreter.TensorHandle
_Function = TypeVar("_Function")
_EIGHT_BITS = {tl.float8e4nv: torch.float8_e4m3fn, tl.float8e5: torch.float8_e5m2}


def widen(bits: Any) -> Any:
    """bfloat16 bits as float32."""
    return (np.ascontiguousarray(bits).view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def narrow(numbers: Any) -> Any:
    """float32 as bfloat16 bits, rounded to nearest even; every NaN is the same NaN."""
    bits = np.ascontiguousarray(numbers, dtype=np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(numbers), np.uint16(0x7FC0), rounded)


def install() -> None:
    """Repair the interpreter for the rest of the process."""
    _operators()
    _casts()
    _reductions()
    _dependent_launches()
    _library()
    _loops()
    _kernels()


def _is_bfloat(handle: Any) -> bool:
    return handle.dtype.scalar == tl.bfloat16 and handle.data.dtype == np.uint16


def _numbers(handle: Any) -> Any:
    return widen(handle.data) if _is_bfloat(handle) else handle.data


def _operators() -> None:
    binary, unary, ternary, dot = (
        _Builder.binary_op, _Builder.unary_op, _Builder.ternary_op, _Builder.create_dot,
    )  # fmt: skip

    def result(data: Any, kind: Any) -> Any:
        return _Handle(data if data.dtype == bool else narrow(data), kind)

    def binary_op(self: Any, left: Any, right: Any, operation: Callable[..., Any]) -> Any:
        if not (_is_bfloat(left) or _is_bfloat(right)):
            return binary(self, left, right, operation)
        return result(operation(_numbers(left), _numbers(right)), left.dtype.scalar)

    def unary_op(self: Any, value: Any, operation: Callable[..., Any]) -> Any:
        if not _is_bfloat(value):
            return unary(self, value, operation)
        return result(operation(_numbers(value)), value.dtype.scalar)

    def ternary_op(self: Any, one: Any, two: Any, three: Any, operation: Callable[..., Any]) -> Any:
        if not (_is_bfloat(two) or _is_bfloat(three)):
            return ternary(self, one, two, three, operation)
        return result(operation(_numbers(one), _numbers(two), _numbers(three)), three.dtype.scalar)

    def create_dot(self: Any, a: Any, b: Any, d: Any, precision: Any, imprecise: Any) -> Any:
        if not (_is_bfloat(a) or _is_bfloat(b)):
            return dot(self, a, b, d, precision, imprecise)
        return _Handle(np.matmul(_numbers(a), _numbers(b), dtype=d.data.dtype) + d.data, d.dtype.scalar)

    _Builder.binary_op, _Builder.unary_op = binary_op, unary_op
    _Builder.ternary_op, _Builder.create_dot = ternary_op, create_dot


def _casts() -> None:
    cast, round_to = _Builder.cast_impl, _Builder.create_fp_to_fp

    def special(kind: Any) -> bool:
        return kind == tl.bfloat16 or kind in _EIGHT_BITS

    def convert(source: Any, target: Any) -> Any:
        kind, wanted = source.dtype.scalar, target.scalar
        if kind in _EIGHT_BITS:
            bits = torch.from_numpy(np.ascontiguousarray(source.data).view(np.uint8).copy())
            numbers = bits.view(_EIGHT_BITS[kind]).float().numpy()
        else:
            numbers = _numbers(source)
        if wanted in _EIGHT_BITS:
            wide = torch.from_numpy(np.ascontiguousarray(numbers).astype(np.float32))
            return _Handle(wide.to(_EIGHT_BITS[wanted]).view(torch.uint8).numpy(), wanted)
        if wanted == tl.bfloat16:
            return _Handle(narrow(numbers.astype(np.float32)), wanted)
        return _Handle(numbers.astype(interpreter._get_np_dtype(target)), wanted)

    def cast_impl(self: Any, source: Any, target: Any) -> Any:
        if special(source.dtype.scalar) or special(target.scalar):
            return convert(source, target)
        return cast(self, source, target)

    def create_fp_to_fp(self: Any, source: Any, target: Any, rounding: Any) -> Any:
        if special(source.dtype.scalar) or special(target.scalar):
            return convert(source, target)
        return round_to(self, source, target, rounding)

    def get_bf16(self: Any, value: float) -> Any:
        return _Handle(narrow(np.array([value], dtype=np.float32)), tl.bfloat16)

    _Builder.cast_impl, _Builder.create_fp_to_fp, _Builder.get_bf16 = cast_impl, create_fp_to_fp, get_bf16


def _reductions() -> None:
    """Reductions read the handles' arrays themselves: give them float32 and round what they give."""
    real = interpreter.ReduceScanOpInterface.apply

    def tensor(data: Any, kind: Any, block: bool) -> Any:
        return tl.core.tensor(_Handle(data, kind), tl.block_type(kind, list(data.shape)) if block else kind)

    def apply(self: Any, given: Any) -> Any:
        if not isinstance(given, tuple) or not any(_is_bfloat(each.handle) for each in given):
            return real(self, given)
        wide = tuple(
            tensor(widen(each.handle.data), tl.float32, True) if _is_bfloat(each.handle) else each
            for each in given
        )
        return tuple(
            tensor(narrow(one.handle.data), tl.bfloat16, one.type.is_block())
            if _is_bfloat(was.handle)
            else one
            for one, was in zip(real(self, wide), given, strict=True)
        )

    interpreter.ReduceScanOpInterface.apply = apply


def _dependent_launches() -> None:
    """Kernels run one after the other: none waits for another, nor lets one begin."""
    for name in ("gdc_wait", "gdc_launch_dependents"):
        if hasattr(tl.extra, "cuda"):
            setattr(tl.extra.cuda, name, lambda *args, **kwargs: None)


def _library() -> None:
    """CUDA's library has no code here: what kernels ask of it is calculated."""
    if hasattr(tl.extra, "cuda"):
        tl.extra.cuda.libdevice.round = _rounded


def _rounded(value: Any) -> Any:
    """To the nearest whole number, and halves away from zero."""
    numbers = value.handle.data
    whole = np.trunc(numbers)
    away = np.abs(numbers - whole) >= 0.5
    found = (whole + np.copysign(away, numbers)).astype(numbers.dtype)
    return tl.core.tensor(_Handle(found, value.handle.dtype.scalar), value.type)


class _Count(int):
    """The number of a turn of a loop. Where kernels are compiled it is a tensor, and kernels convert it."""

    def to(self, kind: Any) -> Any:
        return interpreter.interpreter_semantic.to_tensor(int(self), False).to(kind)


def _counted(turns: Iterable[Any]) -> Iterable[Any]:
    return map(_Count, turns) if isinstance(turns, range) else turns


def _loops() -> None:
    """Loops over numbers give numbers that can be converted."""

    def visit_For(self: Any, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.iter = ast.Call(ast.Name(_counted.__name__, ast.Load()), [node.iter], [])
        return node

    interpreter.ASTTransformer.visit_For = visit_For
    setattr(interpreter, _counted.__name__, _counted)  # kernels see the names of the interpreter's module


def _kernels() -> None:
    """What the interpreter runs counts as a kernel, for those who ask whether a function is one."""
    compiled = jit.JITFunction

    class OfAnyKind(type(compiled)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, compiled | interpreter.InterpretedFunction)

    class JITFunction(compiled[_Function], metaclass=OfAnyKind):  # type: ignore[misc]
        pass

    jit.JITFunction = JITFunction
