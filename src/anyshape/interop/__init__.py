"""Between our graph and torch: `torch.fx` and torch's compilers. See the folder's README."""

from anyshape.interop.fx_graph import to_fx as to_fx
