"""`python -m anyshape`: the command line."""

import sys

from anyshape.cli.main import main

sys.exit(main())
