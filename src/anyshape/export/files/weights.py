"""The constants of a program as a safetensors file, with a record of the properties of each.

Tensors that share memory still share it when loaded: they are views of one entry of the file. A
dense tensor that shares nothing is an entry of its own, with its shape and dtype. Tensors of a
program on the meta device have no data: the entry is the size of their memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import safetensors.torch
import torch

from anyshape.errors import LoadError, UnsupportedError
from anyshape.export.files import checked
from anyshape.torch_compat.tensor_subclass import storage_id
from anyshape.torch_compat.torch_function import DisableTorchFunction, is_plain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_BYTES: Final = torch.uint8
_META: Final = "meta"
_ALIGN: Final = 16
_NAMES: Final = """
    float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool uint64 uint32 uint16
    float8_e4m3fn float8_e5m2
"""
_STORED: Final = frozenset(getattr(torch, name) for name in _NAMES.split())
FIELDS: Final = ("device", "dtype", "grad", "key", "offset", "parameter", "shape", "strides")


def encode(
    tensors: Sequence[torch.Tensor], names: Sequence[str]
) -> tuple[list[dict[str, Any]], bytes]:
    """A record for each tensor, and the safetensors file; `names` are the preferred keys."""
    with DisableTorchFunction(), torch.no_grad():
        groups: dict[int, list[int]] = {}
        plain = [_plain(t, name) for t, name in zip(tensors, names, strict=True)]
        for i, t in enumerate(plain):
            groups.setdefault(storage_id(t.untyped_storage()), []).append(i)
        records: list[dict[str, Any]] = [{} for _ in tensors]
        entries: dict[str, torch.Tensor] = {}
        for members in groups.values():
            key = names[members[0]]
            entries[key], places = _entry([plain[i] for i in members])
            for i, (strides, offset) in zip(members, places, strict=True):
                t = tensors[i]
                records[i] = {
                    "device": str(t.device),
                    "dtype": str(t.dtype).removeprefix("torch."),
                    "grad": t.requires_grad,
                    "key": key,
                    "offset": offset,
                    "parameter": isinstance(t, torch.nn.Parameter),
                    "shape": list(t.shape),
                    "strides": strides,
                }
        return records, safetensors.torch.save(entries)


def _plain(t: torch.Tensor, name: str) -> torch.Tensor:
    """The tensor without autograd, with a pending conjugation or negation resolved."""
    if t.is_quantized or t.layout is not torch.strided:
        raise UnsupportedError(
            f"cannot save the constant {name}",
            why=f"it is {t.dtype}, {t.layout}, on {t.device}",
            code="AS511",
        )
    if not is_plain(type(t)):
        raise UnsupportedError(
            f"cannot save the constant {name}",
            why=f"it is a {type(t).__name__}, and a file holds no code of classes",
            code="AS511",
        )
    return t.detach().resolve_conj().resolve_neg()


def _entry(group: list[torch.Tensor]) -> tuple[torch.Tensor, list[tuple[Any, int]]]:
    """The entry for tensors of one storage; for each its strides (None: the entry's) and offset."""
    first = group[0]
    if first.is_meta:
        count = torch.tensor([first.untyped_storage().nbytes()])
        return count, [(list(t.stride()), int(t.storage_offset())) for t in group]
    if len(group) == 1 and first.dtype in _STORED and first.is_contiguous():
        return first.cpu().clone(), [(None, 0)]
    itemsizes = [t.element_size() for t in group]
    starts = [t.storage_offset() * k for t, k in zip(group, itemsizes, strict=True)]
    lo = min(starts) // _ALIGN * _ALIGN
    ends = [s + _extent(t) * k for t, s, k in zip(group, starts, itemsizes, strict=True)]
    size = max(ends) - lo
    held = torch.empty(0, dtype=_BYTES, device=first.device)
    held.set_(first.untyped_storage(), lo, (size,), (1,))
    stored = torch.zeros(-(-size // _ALIGN) * _ALIGN, dtype=_BYTES)
    stored[:size] = held.cpu()
    places = [
        (list(t.stride()), (s - lo) // k) for t, s, k in zip(group, starts, itemsizes, strict=True)
    ]
    if first.dtype in _STORED and all(t.dtype is first.dtype for t in group):
        stored = stored.view(first.dtype)
    return stored, places


def _extent(t: torch.Tensor) -> int:
    """The number of elements in memory from the first to the last one used."""
    if not t.numel():
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride(), strict=True))


def wanted_keys(records: Any, absent: Collection[int]) -> set[str]:
    """The entries that hold the tensors whose numbers are not `absent`."""
    found = checked.items(records, "constants")
    known = [record if type(record) is dict else {} for record in found]
    keys = [
        record.get("key")
        for i, record in enumerate(known)
        if i not in absent or record.get("device") == _META  # without data in any case
    ]
    return {key for key in keys if type(key) is str}


def decode(
    records: Any, data: bytes, sizes: Mapping[str, int]
) -> tuple[list[torch.Tensor], list[torch.device]]:
    """The tensors of the records, and their devices. The entries in `sizes` are not in the data:
    their tensors are on the meta device.
    """
    try:
        entries = safetensors.torch.load(data)
    except Exception as e:  # an error of safetensors, or of its reader at a wrong header
        raise LoadError("weights.safetensors is damaged", why=str(e)[:200]) from e
    moved: dict[Any, torch.Tensor] = {}
    used: set[str] = set()
    found, devices = [], []
    for i, record in enumerate(checked.items(records, "constants")):
        t, device = _decoded(record, f"constant {i}", entries, moved, sizes)
        used.add(record["key"])
        found.append(t)
        devices.append(device)
    extra = sorted({*entries, *sizes} - used)
    if extra:
        raise LoadError(
            f"weights.safetensors has {extra[0][:60]!r}, which the program does not use"
        )
    return found, devices


def _decoded(
    record: Any, where: str, entries: Any, moved: Any, sizes: Mapping[str, int]
) -> tuple[torch.Tensor, torch.device]:
    device_, dtype_, grad, key, offset, parameter, shape_, strides_ = checked.fields(
        record, FIELDS, where
    )
    device = checked.device(device_, where)
    checked.number(offset, where, 0, 0 if strides_ is None else checked.MAX_SIZE)
    dtype = checked.one_of(dtype_, checked.DTYPES, where)
    shape = checked.sizes(shape_, where)
    base = entries.get(checked.text(key, where))
    if base is None and key not in sizes:
        raise LoadError(f"weights.safetensors has no {key[:60]!r}")
    if (key, device) not in moved:
        try:
            if base is not None and device.type == _META:
                base = _absent(checked.number(base.tolist()[0], where, 0, checked.MAX_SIZE))
            moved[key, device] = _absent(sizes[key]) if base is None else base.to(device)
        except LoadError:
            raise
        except Exception as e:  # any error of the device's backend
            raise LoadError(f"{where} is on {device}", why=str(e).splitlines()[0]) from e
    base = moved[key, device]
    if base.is_meta and strides_ is None:
        strides_ = _dense(shape)
    if strides_ is None:
        if tuple(base.shape) != shape or base.dtype is not dtype:
            raise LoadError(f"{where} is not {dtype} {list(shape)} in weights.safetensors")
        t = base.detach()
    else:
        t = _view(base, dtype, shape, checked.sizes(strides_, where), offset, where)
    if checked.flag(grad, where) and not (dtype.is_floating_point or dtype.is_complex):
        raise LoadError(f"{where} requires gradients and is {dtype}")
    if checked.flag(parameter, where):
        return torch.nn.Parameter(t, requires_grad=grad), device
    return t.requires_grad_(grad), device


def _absent(size: int) -> torch.Tensor:
    """Bytes without memory."""
    return torch.empty(size, dtype=_BYTES, device="meta")


def _dense(shape: tuple[int, ...]) -> list[int]:
    """The strides of a dense tensor."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return strides[::-1]


def _view(
    base: torch.Tensor,
    dtype: torch.dtype,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    where: str,
) -> torch.Tensor:
    if base.dim() != 1 or len(shape) != len(strides) or base.dtype not in (dtype, _BYTES):
        raise LoadError(f"{where} is not a view of the stored tensor")
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if 0 in shape:
        extent = 0
    itemsize = dtype.itemsize
    if (offset + extent) * itemsize > base.numel() * base.element_size():
        raise LoadError(f"{where} extends beyond the stored tensor")
    t = torch.empty(0, dtype=dtype, device=base.device)
    t.set_(base.untyped_storage(), offset, shape, strides)
    return t
