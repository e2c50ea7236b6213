"""`python -m graph.cli` is `planrail`."""

import sys

from graph.cli.app import main

sys.exit(main())
