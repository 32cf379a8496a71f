"""Symbolic numbers over the engine, as subclasses of torch's. See the folder's README."""

from anyshape.symbolic.functions import check as check
from anyshape.symbolic.functions import guard_or_false as guard_or_false
from anyshape.symbolic.functions import guard_or_true as guard_or_true
from anyshape.symbolic.functions import hint as hint
from anyshape.symbolic.functions import statically_known_false as statically_known_false
from anyshape.symbolic.functions import statically_known_true as statically_known_true
from anyshape.symbolic.functions import sym_and as sym_and
from anyshape.symbolic.functions import sym_ite as sym_ite
from anyshape.symbolic.functions import sym_max as sym_max
from anyshape.symbolic.functions import sym_min as sym_min
from anyshape.symbolic.functions import sym_not as sym_not
from anyshape.symbolic.functions import sym_or as sym_or
from anyshape.symbolic.functions import sym_sum as sym_sum
from anyshape.symbolic.shape_env import ShapeEnv as ShapeEnv
from anyshape.symbolic.sym_bool import SymBool as SymBool
from anyshape.symbolic.sym_float import SymFloat as SymFloat
from anyshape.symbolic.sym_int import SymInt as SymInt
