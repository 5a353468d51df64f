"""How much work something is, in calls: the same on every machine, however slow it is."""

import sys


class CountedCalls:
    """`with CountedCalls() as counted: ...`; then `counted.calls`: of functions of Python and of C, in this thread."""

    def __init__(self):
        self.calls = 0

    def __enter__(self):
        self._before = sys.getprofile()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_error):
        sys.setprofile(self._before)

    def _note(self, _frame, event, _called):
        self.calls += event in ("call", "c_call")
