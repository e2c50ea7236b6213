"""`python -m graph.cli` is `planrail`."""

import sys

from graph.cli import main

sys.exit(main())
