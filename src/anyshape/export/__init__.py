"""Programs for every shape that a spec allows. See the folder's README."""

from anyshape.export.dim import Dim as Dim
from anyshape.export.export import export as export
from anyshape.export.program import ExportedProgram as ExportedProgram
