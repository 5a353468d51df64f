"""python -m opsapp.agent: the same program as the zipapp."""

import sys

from opsapp.agent.main import main

if __name__ == "__main__":
    sys.exit(main())
