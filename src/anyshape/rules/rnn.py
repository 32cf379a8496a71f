"""Recurrent networks: one op for a whole sequence, so that its length stays symbolic."""

from __future__ import annotations

from typing import Any

import torch

from anyshape.errors import ShapeError
from anyshape.rules.dispatch.autocast import autocast_dtype
from anyshape.rules.dispatch.result import Many
from anyshape.rules.dispatch.table import rule
from anyshape.rules.shared.operand import is_tensor, meta_of, shape_of
from anyshape.symbolic.sym_bool import SymBool
from anyshape.tensor.current import current
from anyshape.tensor.layout import CONTIGUOUS, Layout
from anyshape.tensor.meta import Meta
from anyshape.tensor.size import expect, expect_equal, plain, text


def _need(n: Any, m: Any, op: str, what: str) -> None:
    if n is not m:
        expect_equal(n, m, lambda: f"{op}: {what}: {text(n)} is not {text(m)}")


def _sequence(
    op: str, x: Any, hidden: tuple[Any, ...], params: Any, num_layers: int, bidirectional: bool,
    batch_first: bool,
) -> tuple[Meta, list[Meta]]:  # fmt: skip
    """The outputs of all steps, and the states whose metadata the last ones have."""
    meta, states = meta_of(x), [meta_of(h) for h in hidden]
    if len(meta.shape) != 3:
        raise ShapeError(f"{op}: expected 3 dimensions, got shape {text(meta.shape)}")
    batch = meta.shape[0 if batch_first else 1]
    _need(meta.shape[2], shape_of(params[0])[1], op, "features of the input and of the weight")
    directions = 2 if bidirectional else 1
    for state in states:
        _need(state.shape[0], num_layers * directions, op, "layers of the state")
        _need(state.shape[1], batch, op, "batches of the state and of the input")
    size = plain(states[0].shape[-1] * directions)
    layout = Layout(order=(1, 0, 2)) if batch_first else CONTIGUOUS
    dtype = meta.dtype
    return Meta((*meta.shape[:2], size), dtype, layout), states


def _packed(
    op: str, data: Any, hidden: tuple[Any, ...], params: Any, bidirectional: bool
) -> tuple[Meta, list[Meta]]:
    """The same for sequences of several lengths, packed step by step."""
    meta, states = meta_of(data), [meta_of(h) for h in hidden]
    _need(meta.shape[1], shape_of(params[0])[1], op, "features of the input and of the weight")
    size = plain(states[0].shape[-1] * (2 if bidirectional else 1))
    return Meta((meta.shape[0], size), meta.dtype), states


def _last(state: Meta) -> Meta:
    return Meta(state.shape, state.dtype)


@rule("lstm", random=True)
def lstm(  # noqa: PLR0913, PLR0917  torch's signature
    x: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any,
    bidirectional: Any, batch_first: Any = None,
) -> Any:  # fmt: skip
    """A long short-term memory over a sequence, or over packed sequences."""
    if is_tensor(hx):  # data, batch_sizes, hx, params, has_biases, num_layers, ...
        out, states = _packed("lstm", x, tuple(params), has_biases, bool(batch_first))
    else:
        out, states = _sequence(
            "lstm", x, tuple(hx), params, num_layers, bidirectional, batch_first
        )
    return Many([out, *map(_last, states)])


def _recurrent(name: str) -> None:
    plain_cell = name.startswith("rnn")

    @rule(name, random=True)
    def recurrent(  # noqa: PLR0913, PLR0917  torch's signature
        x: Any, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any,
        bidirectional: Any, batch_first: Any = None,
    ) -> Any:  # fmt: skip
        if is_tensor(params):  # data, batch_sizes, hx, params, has_biases, num_layers, ...
            out, states = _packed(name, x, (params,), has_biases, bool(batch_first))
        else:
            out, states = _sequence(name, x, (hx,), params, num_layers, bidirectional, batch_first)
        if plain_cell:
            out.dtype = autocast_dtype(out)
        last = _last(states[0])
        last.dtype = out.dtype
        return Many([out, last])


for _name in ("gru", "rnn_tanh", "rnn_relu"):
    _recurrent(_name)


# ---------------------------------------------------------------------- single steps


def _need_cell(op: str, x: Meta, state: Meta, w_ih: Any, w_hh: Any) -> None:
    if len(x.shape) != 2:
        raise ShapeError(f"{op}: expected a batch of rows, got shape {text(x.shape)}")
    _need(x.shape[1], shape_of(w_ih)[1], op, "features of the input and of the weight")
    _need(state.shape[1], shape_of(w_hh)[1], op, "features of the state and of the weight")
    _need(x.shape[0], state.shape[0], op, "batches of the input and of the state")


@rule("lstm_cell")
def lstm_cell(x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """One step of a long short-term memory: the new state and cell."""
    states = [meta_of(h) for h in hx]
    _need_cell("lstm_cell", meta_of(x), states[0], w_ih, w_hh)
    return Many([_last(s) for s in states])


def _cell(name: str) -> None:
    plain_cell = name.startswith("rnn")

    @rule(name)
    def cell(x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        meta, state = meta_of(x), meta_of(hx)
        _need_cell(name, meta, state, w_ih, w_hh)
        out = _last(state)
        if plain_cell:
            out.dtype = autocast_dtype(state)
        return out


for _name in ("gru_cell", "rnn_tanh_cell", "rnn_relu_cell"):
    _cell(_name)


# ---------------------------------------------------------------------- packed sequences


@rule("_pack_padded_sequence")
def pack_padded_sequence(x: Any, lengths: Any, batch_first: bool) -> Any:
    """Sequences of several lengths packed step by step, with the size of the batch at each."""
    meta = meta_of(x)
    if len(meta.shape) < 2:
        raise ShapeError(f"pack_padded_sequence: expected 2 dimensions, got {text(meta.shape)}")
    batch, steps = meta.shape[:2] if batch_first else reversed(meta.shape[:2])
    (count,) = shape_of(lengths)
    _need(count, batch, "pack_padded_sequence", "lengths and sequences")
    tracer = current()
    longest, total = tracer.fresh_size(min=1), tracer.fresh_size(min=1)
    for known in (longest <= steps, total <= steps * batch, longest <= total, batch <= total):
        if type(known) is SymBool:
            tracer.env.learn(known.condition)
    cpu = torch.device("cpu")
    return Many(
        [Meta((total, *meta.shape[2:]), meta.dtype), Meta((longest,), torch.int64, device=cpu)]
    )


@rule("_pad_packed_sequence")
def pad_packed_sequence(
    data: Any, batch_sizes: Any, batch_first: bool, padding_value: Any, total_length: Any
) -> Any:
    """Sequences of one length, padded at their ends, with their own lengths."""
    meta = meta_of(data)
    (steps,) = shape_of(batch_sizes)
    length = plain(total_length)
    if length is not steps and not (type(length) is int and length <= 0):
        expect(
            length >= steps,
            lambda: f"pad_packed_sequence: {text(steps)} steps do not fit in {text(length)}",
        )
    else:
        length = steps
    batch = current().fresh_size(min=1)
    lengths = Meta((batch,), torch.int64, device=torch.device("cpu"))
    rest = meta.shape[1:]
    if not batch_first:
        return Many([Meta((length, batch, *rest), meta.dtype), lengths])
    layout = Layout(order=(1, 0, *range(2, len(rest) + 2)))
    return Many([Meta((batch, length, *rest), meta.dtype, layout), lengths])
