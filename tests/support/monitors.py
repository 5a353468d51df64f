"""Monitors of a running server, as its API shows them."""

from tests.support.waiting import until

MONITORS = "/api/monitoring/endpoints"


def checked(serve, path, *wanted):
    """The monitor's record, once its status is one of these."""

    def done():
        record = serve.admin.get(path)
        return record if record["status"] in wanted else None

    return until(done, 30, what=f"{' or '.join(wanted)}: {path}")
