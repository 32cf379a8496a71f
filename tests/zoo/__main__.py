"""`python -m tests.zoo`."""

import sys

from tests.zoo.run import main

sys.exit(main())
