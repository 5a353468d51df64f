"""An application of this process on a real socket, for clients that need an address."""

import contextlib
import errno
import threading

from waitress.server import create_server


@contextlib.contextmanager
def listening(app):
    """The address at which the application answers."""
    server = create_server(app, host="127.0.0.1", port=0, threads=2)
    server.adj.asyncore_loop_timeout = 0.1  # so late it sees that it was closed; the setting takes whole seconds
    thread = threading.Thread(target=run, args=(server,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.task_dispatcher.shutdown()
        server.close()
        thread.join(10)
        for channel in list(server.active_channels.values()):
            channel.close()


def run(server):
    """Until its socket is closed under it, wherever in its loop that meets it."""
    try:
        server.run()
    except OSError as problem:
        if problem.errno != errno.EBADF:
            raise
