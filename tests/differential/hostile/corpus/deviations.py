"""Sizes 0 and 1: strides and branches, as in eager, or listed as a deviation, or refused."""

import torch

from tests.differential.hostile.program import Box, Case, matrix, program

EXACT = {"on_deviation": "specialize"}
NEVER = {"on_deviation": "raise"}
GENERAL = {"specialize_zero_one": False}


def column(n):
    return (torch.arange(n * 4.0).reshape(4, n).t(),)


def square(n):
    return (torch.ones(n, n),)


def at(name, use, args=matrix, sizes=(0, 1), **more):
    """A program that asks at sizes where dimensions stop to count, under each way to deviate."""

    def add(suffix, options, settings):
        def factory():
            def fn(x):
                return use(x)

            return Case(fn, args=args, sizes=sizes, options=options, settings=settings, **more)

        factory.__name__ = name + suffix
        program(factory)

    add("", None, None)
    add("_specialized", EXACT, None)
    add("_general", None, GENERAL)


at("stride", lambda x: (x.stride(), x * 2))
at("stride_of_a_transposed_input", lambda x: (x.stride(), x.is_contiguous(), x * 2), column)
at("stride_of_a_product", lambda x: (x * x).stride(), column)
at("dim_order", lambda x: (x.dim_order(), (x * 2).dim_order()), column)
at("squeeze", lambda x: (x.squeeze(0).dim(), x.squeeze(0) * 2))
at("squeeze_all", lambda x: x.squeeze() * 2)
at("contiguous_view", lambda x: x.t().reshape(-1))
at("expand", lambda x: x.expand(3, x.shape[0], 4).sum(0), sizes=(1,))
at("broadcast", lambda x: x + torch.ones(x.shape[0] + 0, 1), sizes=(0, 1))
at("broadcast_of_two", lambda x: x[:1] + x)
at("meshgrid", lambda x: torch.meshgrid(x[:, 0], x[:, 0], indexing="ij")[0].stride())
at("einsum", lambda x: torch.einsum("ij,jk->ik", x.t(), x).stride(), column)
at("mean_of_nothing", lambda x: x.mean(0))
at("split_in_two", lambda x: [t.shape[0] for t in x.chunk(2)])
at("branch_after_data", lambda x: x * 2 if x.sum() > 5 else x.squeeze(0) * 3)
at("numel_branch", lambda x: x * 2 if x.numel() > 0 else x)
at("one_branch", lambda x: x[0] if x.shape[0] == 1 else x.sum(0))
at("batched_product", lambda x: torch.bmm(x[None], x.t()[None]).stride())
at("diagonal", lambda x: (x.diagonal(), x.tril()), square)
at("flatten", lambda x: x.flatten(0, 1).stride())


@program
def division_with_general_sizes():
    def fn(x):
        try:
            return x * (6 // x.shape[0])
        except ZeroDivisionError:
            return x

    return Case(fn, settings=GENERAL, sizes=(0, 1, 0, 2))


@program
def effect_at_general_sizes():
    o = Box(n=0)

    def fn(x):
        o.n += x.shape[0]
        return x.squeeze(0) * o.n

    return Case(fn, args=matrix, options=EXACT)


@program
def raise_on_a_deviation():
    def fn(x):
        return x.squeeze(0) * 2

    return Case(fn, args=matrix, options=NEVER)
