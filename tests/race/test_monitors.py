"""Many clients create monitors at once: each gets what it asked for, and nobody is turned away."""

import threading


def test_creates_do_not_meet(service):
    answers, clients = [], [service.client("otto") for _ in range(4)]

    def create(client, number):
        for n in range(40):
            body = {"name": f"{number}-{n}", "type": "http", "url": "http://127.0.0.1:1/"}
            answers.append(client.post_json("/api/monitoring/endpoints", body, expect_errors=True))

    threads = [threading.Thread(target=create, args=(client, n)) for n, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_int for answer in answers] == [201] * 160
    names = [each["name"] for each in service.vera.get("/api/monitoring/endpoints").json]
    assert len(names) == len(set(names)) == 160
