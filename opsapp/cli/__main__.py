"""`python -m opsapp.cli` is the `opsapp` command."""

import sys

from . import main

sys.exit(main())
