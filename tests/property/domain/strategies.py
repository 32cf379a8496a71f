"""Hypothesis strategies for the domains: numbers small, near `LIMIT` and far past it."""

from hypothesis import Phase, settings
from hypothesis import strategies as st

from anyshape.domain import EVERY_INTEGER, INF, LIMIT, NINF, Congruence, Interval, congruence

HUGE = 10**400

# A planted error must be found anew each time, and need not be shrunk.
NEGATIVE_CONTROL = settings(database=None, derandomize=True, phases=[Phase.generate])

numbers = st.one_of(
    st.integers(-20, 20),
    st.integers(-(2**63), 2**63),
    st.integers(LIMIT - 3, LIMIT + 3),
    st.integers(-LIMIT - 3, -LIMIT + 3),
    st.integers(-HUGE, HUGE),
)
distances = st.one_of(st.integers(0, 10), st.integers(0, 2**64), st.integers(0, HUGE))


@st.composite
def held_numbers(draw: st.DrawFn, values: st.SearchStrategy[int] = numbers) -> tuple[Interval, int]:
    """Draw an interval, finite or not, and one of its members."""
    member = draw(values)
    below, above = draw(st.none() | distances), draw(st.none() | distances)
    lo = NINF if below is None else member - below
    hi = INF if above is None else member + above
    return Interval(lo, hi), member


intervals = held_numbers().map(lambda held: held[0])


@st.composite
def short_intervals(draw: st.DrawFn) -> Interval:
    """Draw a finite interval that can be enumerated."""
    lo = draw(st.integers(-100, 100))
    return Interval(lo, lo + draw(st.integers(0, 25)))


congruences: st.SearchStrategy[Congruence] = st.one_of(
    st.just(EVERY_INTEGER),
    st.builds(congruence, st.integers(0, 60), st.integers(-100, 100)),
    st.builds(congruence, st.integers(-HUGE, HUGE), numbers),
)
