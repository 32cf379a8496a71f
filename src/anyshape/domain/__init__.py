"""Sets of integers: intervals, congruences and their reduced product.

The lowest layer of the engine: pure functions on small tuples, Python's integer semantics, nothing
but the standard library.  It knows nothing of expressions, symbols or facts.
"""

from anyshape.domain.bound import INF as INF
from anyshape.domain.bound import LIMIT as LIMIT
from anyshape.domain.bound import NINF as NINF
from anyshape.domain.bound import Bound as Bound
from anyshape.domain.bound import ceil_div as ceil_div
from anyshape.domain.bound import floor_div as floor_div
from anyshape.domain.bound import lower as lower
from anyshape.domain.bound import times as times
from anyshape.domain.bound import upper as upper
from anyshape.domain.congruence import EVERY_INTEGER as EVERY_INTEGER
from anyshape.domain.congruence import Congruence as Congruence
from anyshape.domain.congruence import congruence as congruence
from anyshape.domain.congruence import solve as solve
from anyshape.domain.interval import EVERYTHING as EVERYTHING
from anyshape.domain.interval import NATURAL as NATURAL
from anyshape.domain.interval import POSITIVE as POSITIVE
from anyshape.domain.interval import Interval as Interval
from anyshape.domain.interval import point as point
from anyshape.domain.inverse import inverse_floordiv as inverse_floordiv
from anyshape.domain.inverse import inverse_mul as inverse_mul
from anyshape.domain.reduced_product import tighten as tighten
