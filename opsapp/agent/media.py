"""Media servers of this host, over their own HTTP interfaces: have the library read anew, clear what is stuck.

A key is read from its file for each call and sent in a header, never in an address or an argument.
Must not: delete media; touch a download that is on its way.
"""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List, Optional, Tuple

from .local import Instance
from .native import Context, Ran, done, failed, not_configured, step

CALL_S = 30.0
MOST_BYTES = 8 * 2**20
_HEADER = {"jellyfin": "X-Emby-Token", "emby": "X-Emby-Token", "plex": "X-Plex-Token"}
_SCANS: Dict[str, Tuple[str, str, Optional[dict]]] = {
    "jellyfin": ("POST", "/Library/Refresh", None),
    "emby": ("POST", "/Library/Refresh", None),
    "plex": ("GET", "/library/sections/all/refresh", None),
    "sonarr": ("POST", "/api/v3/command", {"name": "RescanSeries"}),
    "radarr": ("POST", "/api/v3/command", {"name": "RescanMovie"}),
    "lidarr": ("POST", "/api/v1/command", {"name": "RescanFolders"}),
}
_QUEUES = {"sonarr": "/api/v3/queue", "radarr": "/api/v3/queue", "lidarr": "/api/v1/queue"}
_STUCK = ("error", "warning")


class MediaServerRefused(Exception):
    """The server said no, or nothing that can be read."""


@step
def scan_media_library(context: Context) -> Ran:
    return _at_server(context, _scan)


def _scan(instance: Instance) -> str:
    _call(instance, *_SCANS[instance.kind])
    return f"{instance.name} reads its library again"


@step
def clean_media_queue(context: Context) -> Ran:
    """Remove failed downloads from the queue, so that they are looked for again."""
    return _at_server(context, _clean_queue)


def _clean_queue(instance: Instance) -> str:
    path = _QUEUES.get(instance.kind)
    if path is None:
        raise MediaServerRefused(f"no_capable_handler: {instance.kind} has no queue of downloads")
    stuck = _stuck(_call(instance, "GET", f"{path}?pageSize=1000", None))
    for number in stuck:
        _call(instance, "DELETE", f"{path}/{number}?removeFromClient=true&blocklist=true", None)
    return f"{len(stuck)} stuck downloads were removed from the queue of {instance.name}"


def _at_server(context: Context, act: Callable[[Instance], str]) -> Ran:
    name, instances = context.params.instance_id, context.config.instances
    if name not in instances:
        return not_configured("instance", name, instances)
    try:
        return done(act(instances[name]))
    except MediaServerRefused as refusal:
        return failed(str(refusal))


def _stuck(answer: Any) -> List[int]:
    rows = answer.get("records") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise MediaServerRefused("the queue cannot be read")
    return [
        row["id"]
        for row in rows
        if isinstance(row, dict)
        and isinstance(row.get("id"), int)
        and (row.get("trackedDownloadStatus") in _STUCK or row.get("status") == "failed")
    ]


def _call(instance: Instance, method: str, path: str, body: Optional[dict]) -> Any:
    try:
        with open(instance.key_file, encoding="ascii") as file:
            key = file.read(4096).strip()
    except (OSError, UnicodeDecodeError):
        raise MediaServerRefused(f"the key of {instance.name} cannot be read") from None
    headers = {_HEADER.get(instance.kind, "X-Api-Key"): key, "Accept": "application/json"}
    data = None
    if body is not None:
        data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
    import urllib.error  # with TLS and e-mail, 3 MB that an agent at rest does not need
    import urllib.request

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        """A key is for the server it was given for."""

        def redirect_request(self, *_: Any, **__: Any) -> None:
            return None

    request = urllib.request.Request(instance.url + path, data=data, headers=headers, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect())
    try:
        with opener.open(request, timeout=CALL_S) as answer:
            raw = answer.read(MOST_BYTES)
    except urllib.error.HTTPError as error:
        error.close()
        raise MediaServerRefused(f"{instance.name} answered {error.code}") from None
    except (OSError, ValueError) as error:
        raise MediaServerRefused(f"{instance.name} cannot be reached: {getattr(error, 'reason', error)}") from None
    try:
        return json.loads(raw) if raw.strip() else None
    except ValueError:
        return None
