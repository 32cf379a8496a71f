"""Symbolic numbers over the engine, as subclasses of torch's. See the folder's README."""

from anyshape.symbolic.condition import SymBool as SymBool
from anyshape.symbolic.shape_env import ShapeEnv as ShapeEnv
from anyshape.symbolic.sym_float import SymFloat as SymFloat
from anyshape.symbolic.sym_int import SymInt as SymInt
