"""The catalogue of codes: what each kind of failure or warning is called, and its class.

A code belongs to a kind of failure, not to a line that raises: it never changes its meaning, and a
code that is no longer raised is not given to another kind. Every code has a page in
docs/reference/errors, which `anyshape errors CODE` prints.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Code(NamedTuple):
    """A kind of failure or warning: the name of its class, and its title."""

    error: str
    title: str


CODES: Final[dict[str, Code]] = {
    # What a program does, while it is traced.
    "AS101": Code("DataDependentError", "A branch on a value that only the data decide"),
    "AS102": Code("DataDependentError", "A Python number from a value that only the data decide"),
    "AS103": Code("DataDependentError", "Too many branches on data"),
    "AS111": Code("UnsupportedError", "Something that a trace cannot follow"),
    "AS112": Code("MissingRuleError", "An op without a shape rule"),
    "AS113": Code("NoHashError", "A symbolic number as a key"),
    "AS114": Code("UnsupportedError", "A traced value outside of its trace"),
    "AS115": Code("UnsupportedError", "A result that a program cannot give back"),
    "AS116": Code("UnsupportedError", "A function inside a higher-order call that is not pure"),
    "AS117": Code("EffectError", "An effect outside of the function"),
    "AS121": Code("ShapeError", "Operands that do not fit"),
    "AS122": Code("DimError", "A dimension or an index that does not exist"),
    "AS123": Code("ArgumentError", "An op that gets a value of another type"),
    # What the sizes may be.
    "AS201": Code("ConstraintError", "A condition that contradicts another one"),
    "AS202": Code("ConstraintError", "Inputs outside of the contract of a program"),
    "AS203": Code("ConstraintError", "A spec and an example that do not go together"),
    "AS211": Code("ConstraintViolation", "A size that was declared to vary, and does not"),
    "AS212": Code("ConstraintViolation", "Sizes that a spec allows, and a program refuses"),
    "AS221": Code("ArgumentError", "A spec that does not fit the arguments"),
    "AS222": Code("ArgumentError", "A spec that is not one"),
    "AS223": Code("ParseError", "Text that is not an expression"),
    # What a call gives to a program.
    "AS301": Code("ArgumentError", "Arguments that the program does not take"),
    "AS302": Code("ArgumentError", "An input of another type or dtype"),
    "AS311": Code("RuntimeAssertError", "A condition that does not hold at run time"),
    "AS312": Code("DivisionAssertError", "A division by a size that is 0"),
    "AS313": Code("DomainAssertError", "An operand that Python does not accept"),
    "AS314": Code("OverflowAssertError", "A result that overflows"),
    "AS315": Code("IndexAssertError", "An index from data that is out of range"),
    "AS316": Code("RuntimeAssertError", "A tensor in another state than while tracing"),
    "AS317": Code("RuntimeAssertError", "A size outside of the bounds of its mark"),
    # compile and its backends.
    "AS401": Code("RecompileLimitError", "More programs than the limit allows"),
    "AS402": Code("AuditError", "A cached program that is not what the function does"),
    "AS403": Code("BackendError", "A backend that fails"),
    "AS404": Code("UnsupportedError", "A program that torch's tools have no form for"),
    # Files and weights.
    "AS501": Code("LoadError", "A damaged file"),
    "AS502": Code("LoadError", "A file that is not a saved program"),
    "AS503": Code("LoadError", "A file of a newer version"),
    "AS504": Code("LoadError", "A saved program whose op is not there"),
    "AS505": Code("LoadError", "A file that cannot be read"),
    "AS506": Code("LoadError", "A trace file that is not one"),
    "AS511": Code("UnsupportedError", "A program that cannot be saved"),
    "AS512": Code("SaveError", "A file that cannot be written"),
    "AS521": Code("StateError", "Weights that do not fit the program"),
    "AS522": Code("UnsupportedError", "What the module of a program cannot do"),
    # How anyshape is called.
    "AS601": Code("ConfigError", "A setting that does not exist, or another value of it"),
    "AS602": Code("ArgumentError", "An argument that a function of anyshape does not take"),
    # Warnings.
    "AS701": Code("AnyshapeWarning", "A function that runs eagerly"),
    "AS702": Code("AnyshapeWarning", "A program that the backend does not compile"),
    "AS703": Code("AnyshapeWarning", "A size of Dim.AUTO that does not vary freely"),
    "AS704": Code("AnyshapeWarning", "Two names for one size"),
    "AS705": Code("RuleSignatureWarning", "A call that a shape rule does not take"),
    "AS711": Code("AnyshapeWarning", "Effects that a module of torch leaves out"),
    "AS712": Code("AnyshapeWarning", "A mode that a program of torch does not have"),
    "AS713": Code("AnyshapeWarning", "A backward that a program of torch does not have"),
    "AS714": Code("AnyshapeWarning", "One graph of torch for several variants"),
    "AS715": Code("AnyshapeWarning", "A program of torch that torch does not save and load"),
    "AS721": Code("AnyshapeWarning", "A list of sources that names nothing"),
    "AS722": Code("AnyshapeWarning", "A store of dynamic sources that cannot be used"),
    "AS723": Code("AnyshapeWarning", "Processes that no longer tell each other what is dynamic"),
    "AS731": Code("AnyshapeWarning", "An environment variable that is not understood"),
    # Anyshape itself.
    "AS901": Code("AnyshapeError", "A mistake in anyshape"),
}
