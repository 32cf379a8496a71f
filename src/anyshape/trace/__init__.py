"""Running a program once and writing down what it does. See the folder's README."""

from anyshape.trace.capture import Captured as Captured
from anyshape.trace.capture import capture as capture
from anyshape.trace.graph.graph import Graph as Graph
