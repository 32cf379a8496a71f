"""What ranks import, imported once by the process that they are forked from."""

from __future__ import annotations

import torch
import torch.distributed.fsdp
from torch.nn import parallel  # noqa: F401

import anyshape
from tests.distributed import agreement_programs, training_programs  # noqa: F401

torch.set_num_threads(1)
anyshape.compile(lambda x: x)(torch.ones(1))  # loads the tracer
