"""Addresses of the caller's arrays, on the host or on a GPU."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

CUDA, MANAGED = 2, 13  # kinds of devices of DLPack
DEFAULT_STREAM = 1     # the library reads and writes in its order


class _Tensor(ctypes.Structure):  # DLTensor
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


def _has_dlpack(array: Any) -> bool:
    return hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] in (CUDA, MANAGED)


def on_device(array: Any) -> bool:
    """True for arrays in the memory of a GPU."""
    return not isinstance(array, np.ndarray) and (_has_dlpack(array) or hasattr(array, "__cuda_array_interface__"))


def _is_dense(shape: list[int], strides: list[int] | None, unit: int) -> bool:
    """True if entries follow each other in the order of C; unit: the distance of neighbours."""
    expected = unit
    for extent, stride in zip(reversed(shape), reversed(strides or [])):
        if extent > 1 and stride != expected:
            return False
        expected *= extent
    return True


def _device_address(array: Any) -> tuple[int, int, Any]:
    if _has_dlpack(array):
        capsule = array.__dlpack__(stream=DEFAULT_STREAM)
        tensor = _Tensor.from_address(_pointer_of(capsule, b"dltensor"))
        shape = tensor.shape[:tensor.ndim]
        strides = tensor.strides[:tensor.ndim] if tensor.strides else None
        is_double = (tensor.code, tensor.bits, tensor.lanes) == (2, 64, 1)
        address, unit, keep = (tensor.data or 0) + tensor.offset, 1, capsule
    else:
        facts = array.__cuda_array_interface__
        shape, strides, is_double = facts["shape"], facts.get("strides"), facts["typestr"] == "<f8"
        address, unit, keep = facts["data"][0], 8, array
        if facts.get("stream") not in (None, DEFAULT_STREAM):
            raise ValueError("the array belongs to a stream of its own; one of the default stream is needed")
    if not is_double or not _is_dense(shape, strides, unit):
        raise ValueError("an array on a GPU must be of doubles, one after the other")
    return address, int(np.prod(shape, dtype=np.int64)), keep


def address(array: Any, writes: bool = False) -> tuple[int, int, Any]:
    """Address and number of entries, and the object that must be kept while the address is in use. Arrays on the host
    that are not of doubles, one after the other, are converted; if they are written to, that is an error."""
    if on_device(array):
        return _device_address(array)
    host = np.asarray(array)
    if host.dtype.kind not in "fiub":
        raise TypeError(f"expected an array of real numbers, not of {host.dtype}")
    dense = np.ascontiguousarray(host, dtype=np.float64)
    if writes and (dense is not host or not host.flags.writeable or (host is not array and host.flags.owndata)):
        raise ValueError("the array for the output must be of doubles, one after the other, and writable")
    return dense.ctypes.data, dense.size, dense


def empty_like(array: Any) -> Any:
    """A new array of the library that made one on a GPU."""
    return sys.modules[type(array).__module__.partition(".")[0]].empty_like(array)
