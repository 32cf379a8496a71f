"""What is known of symbols, and what must hold at run time. See the folder's README."""

from anyshape.env.env import Env as Env
from anyshape.env.fact import Fact as Fact
from anyshape.env.fact import Verdict as Verdict
from anyshape.env.obligation import Obligation as Obligation
from anyshape.env.site import Site as Site
from anyshape.env.symbol import Symbol as Symbol
