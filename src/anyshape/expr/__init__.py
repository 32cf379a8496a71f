"""Integer expressions, conditions and reals: immutable, interned, lazy. See the folder's README."""

from anyshape.expr.atom import symbol as symbol
from anyshape.expr.boolean import Bool as Bool
from anyshape.expr.boolean import conj as conj
from anyshape.expr.boolean import disj as disj
from anyshape.expr.boolean import eq0 as eq0
from anyshape.expr.boolean import ge0 as ge0
from anyshape.expr.boolean import ne0 as ne0
from anyshape.expr.boolean import negate as negate
from anyshape.expr.constructor.choice import choose as choose
from anyshape.expr.constructor.division import floordiv as floordiv
from anyshape.expr.constructor.division import modulo as modulo
from anyshape.expr.constructor.extremum import absolute as absolute
from anyshape.expr.constructor.extremum import maximum as maximum
from anyshape.expr.constructor.extremum import minimum as minimum
from anyshape.expr.constructor.product import multiply as multiply
from anyshape.expr.constructor.product import power as power
from anyshape.expr.evaluate import evaluate as evaluate
from anyshape.expr.node import Expr as Expr
from anyshape.expr.pool import Pool as Pool
from anyshape.expr.real import Real as Real
from anyshape.expr.text.parse import parse as parse
from anyshape.expr.text.show import show as show
