"""A type of monitor that only a test declares is in the schema, the document, the form, the checks and the message."""

import subprocess
import sys
import textwrap

PROGRAM = """
    import json
    import socket
    import sys
    import threading
    import time
    from opsapp.wire.dataclass import dataclass
    from typing import Annotated

    from opsapp.wire import monitortypes
    from opsapp.wire.kinds import Text
    from opsapp.wire.monitortypes import MonitorType
    from opsapp.wire.typesettings import TypeSettings
    from opsapp.wire.probes import Outcome, connect
    from opsapp.wire.records import FormField, plain

    def greeted(target, gate):
        host, _, port = target.url.partition("://")[2].partition(":")
        said = connect(gate, gate.addresses(host), int(port)).recv(100).decode()
        problem = "" if said == target.own.greeting else f"it said {said!r}"
        return Outcome(not problem, gate.elapsed(), problem or "greeted")

    # The one place.
    @dataclass(frozen=True)
    class GreetingSettings(TypeSettings):
        greeting: Annotated[str, Text(1, 20), FormField("Greeting")]

    monitortypes.TYPES["greeting"] = MonitorType(
        "greeting",
        "Waits for a greeting.",
        "greeting://host:port",
        ("greeting",),
        needs_port=True,
        settings=GreetingSettings,
        probe=greeted,
    )

    from opsapp.agent.probing.probesunderway import gate_of, look, target_of
    from opsapp.lib.networks import AddressPolicy
    from opsapp.monitoring.engine.watch import watch_of
    from opsapp.monitoring.probes.prober import Prober
    from opsapp.ui.plan.monitors import MONITORS
    from opsapp.ui.shapes.monitorform import kind_of
    from opsapp.web.openapi import document
    from opsapp.wire import messages, probemessages
    from opsapp.wire.fields import record
    from tests.support.app import Service

    BASE = "/api/monitoring/endpoints"
    service = Service(sys.argv[1])

    # The form and the document
    fields = {field.name: field for page in MONITORS for act in page.forms for field in act.fields}
    assert "greeting" in fields["type"].choices and fields["greeting"].label == "Greeting"
    assert kind_of(monitortypes.TYPES["greeting"]).first == ("name", "url", "greeting")
    assert kind_of(monitortypes.TYPES["greeting"]).address == "greeting://host:port"
    properties = document(service.app.registry)["components"]["schemas"]["NewMonitor"]["properties"]
    assert "greeting" in properties["type"]["enum"]
    assert properties["greeting"]["anyOf"][0]["maxLength"] == 20

    # The schema
    new = {"name": "Hello", "type": "greeting", "url": "greeting://127.0.0.1"}
    wrong = service.otto.post_json(BASE, new, status=422).json["fields"]
    assert wrong == {"url": "must name a port, as in greeting://host:port", "greeting": "is required for this type"}
    assert "20 characters" in str(service.otto.post_json(BASE, new | {"greeting": "x" * 21}, status=422).json)

    # The checks of server and agent
    with socket.create_server(("127.0.0.1", 0)) as server:
        def greet():
            while True:
                server.accept()[0].sendall(b"hi")
        threading.Thread(target=greet, daemon=True).start()
        new["url"] += f":{server.getsockname()[1]}"
        made = [service.otto.post_json(BASE, new | {"greeting": text}).json["id"] for text in ("hi", "hello")]
        old = service.otto.post_json(BASE, {"name": "Old", "type": "ping", "url": "ping://127.0.0.1"}).json["id"]
        assert service.vera.get(f"{BASE}/{made[0]}").json["greeting"] == "hi"
        assert service.vera.get(f"{BASE}/{old}").json["greeting"] is None
        entries = service.transact(watch_of(service.node).entries)
        prober = Prober(time.monotonic, AddressPolicy())
        seen = []
        for monitor_id in made:
            target = entries[monitor_id].target
            seen.append(prober.probe(target))
            # The message to an agent, and what the agent makes of it
            asked = {"type": target.type, "url": target.url, "timeout": 5} | plain(target.own)
            asked = record(json.loads(json.dumps(asked)), probemessages.PROBE_TARGET)
            seen.append(look(target_of(asked), gate_of(asked), None))
        prober.close()
    assert [outcome.detail for outcome in seen] == ["greeted", "greeted", "it said 'hi'", "it said 'hi'"]
    assert [outcome.ok for outcome in seen] == [True, True, False, False]
    service.close()
    print("all of it")
"""


def test_a_type_is_added_in_one_place(tmp_path):
    """In a process of its own: what is made from the declarations is made when the modules are loaded."""
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "all of it"), done.stderr
