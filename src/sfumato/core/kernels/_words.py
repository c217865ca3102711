"""Eight bytes at a time: instructions of the processor that numba has no name for."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

# to the type checker a call of an intrinsic is a call of anything: its first argument is numba's own
intrinsic: Any = _intrinsic


@intrinsic
def word_at(typing: Any, data: Any, place: Any) -> Any:
    """Return the eight bytes of ``data`` from ``place`` on as one number, the first byte the lowest; nothing checks that they are there."""
    del typing, place

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(array.data, [arguments[1]])
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(data, types.int64), generate


@intrinsic
def put_word(typing: Any, data: Any, place: Any, word: Any) -> Any:
    """Write eight bytes into ``data`` from ``place`` on; nothing checks that there is room."""
    del typing, place, word

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(array.data, [arguments[1]])
        builder.store(arguments[2], builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.none(data, types.int64, types.uint64), generate


@intrinsic
def trailing_zeros(typing: Any, word: Any) -> Any:
    """Return how many of the lowest bits are zero; 64 where all are."""
    del typing, word

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.cttz(arguments[0], cgutils.false_bit)

    return types.uint64(types.uint64), generate


@intrinsic
def fetch_row(typing: Any, table: Any, row: Any) -> Any:
    """Ask for the beginning of a row of a table of two dimensions, contiguous, ahead of its use; nothing checks that it is there."""
    del typing, row

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        width = builder.extract_value(array.shape, 1)
        pointer = builder.bitcast(builder.gep(array.data, [builder.mul(arguments[1], width)]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        found: Any = cgutils
        fetch = found.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        # for writing, to be kept in all caches, data
        builder.call(fetch, [pointer, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.none(table, types.int64), generate
