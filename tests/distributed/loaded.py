"""What ranks import, imported once by the process that they are forked from.

That includes torch's compiler, whose import takes as long as all tests of one rank. It compiles in
the ranks themselves: each would start processes for it otherwise, which import torch again.
"""

from __future__ import annotations

import os

os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # read when torch is imported

import torch
import torch.distributed.fsdp
from torch.nn import parallel  # noqa: F401

import anyshape
from tests.distributed import agreement_programs, training_programs  # noqa: F401

torch.set_num_threads(1)
for backend in (None, "inductor"):  # loads the tracer and the compiler; there are no kernels
    anyshape.compile(lambda x: x @ x, backend=backend)(torch.ones(1, 1))
