"""The library of built-in templates: what works on a bare Linux host with a POSIX shell and nothing else."""

from __future__ import annotations

from dataclasses import replace

from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.dataclass import frozen
from opsapp.wire.records import made, plain

from .inputs import Input
from .params import ScriptParams

DISK = """\
echo "File systems, the fullest first:"
df -P -k | awk 'NR > 1 && $2 > 0 {print $5 " " $6 " (" int($4 / 1024) " MiB free)"}' | sort -rn
full=$(df -P -k | awk -v most={{input:most_percent}} \
    'NR > 1 && $2 > 0 {sub("%", "", $5); if ($5 + 0 > most + 0) print $6}')
if [ -n "$full" ]; then
    echo "Over {{input:most_percent}} percent:" $full
    exit 1
fi
"""
MEMORY = """\
awk '/^(MemTotal|MemAvailable|SwapTotal|SwapFree):/ {printf "%-14s %8d MiB\\n", $1, $2 / 1024}' /proc/meminfo
free=$(awk '/^MemTotal:/ {all = $2} /^MemAvailable:/ {left = $2} END {print int(100 * left / all)}' /proc/meminfo)
echo "$free percent of the memory is available"
[ "$free" -ge {{input:least_percent}} ]
"""
LOAD = """\
read one five fifteen rest < /proc/loadavg
cpus=$(grep -c '^processor' /proc/cpuinfo)
[ "$cpus" -gt 0 ] || cpus=1
echo "load $one $five $fifteen on $cpus processors, up $(awk '{print int($1 / 3600)}' /proc/uptime) h"
awk -v load="$five" -v most={{input:most_per_processor}} -v cpus="$cpus" 'BEGIN {exit !(load / cpus <= most)}'
"""
PROCESSES = """\
echo "MiB    pid  name"
for dir in /proc/[0-9]*; do
    awk -v pid="${dir#/proc/}" '/^Name:/ {name = $2} /^VmRSS:/ {rss = $2}
        END {if (rss) printf "%6.1f %6d %s\\n", rss / 1024, pid, name}' "$dir/status" 2>/dev/null
done | sort -rn | head -n {{input:count}}
"""
LARGEST = """\
dir={{input:directory}}
[ -d "$dir" ] || { echo "$dir is no directory" >&2; exit 2; }
echo "KiB in $dir, the largest first:"
du -x -k "$dir" 2>/dev/null | sort -rn | head -n {{input:count}}
"""
OLD_FILES = """\
dir={{input:directory}}
days={{input:days}}
case "$dir" in /|/bin*|/boot*|/dev*|/etc*|/lib*|/proc*|/sbin*|/sys*|/usr*) echo "not in $dir" >&2; exit 2 ;; esac
[ -d "$dir" ] || { echo "$dir is no directory" >&2; exit 2; }
if [ {{input:really}} = true ]; then
    find "$dir" -xdev -type f -mtime +"$days" -print -exec rm -f {} +
else
    echo "Would delete:"
    find "$dir" -xdev -type f -mtime +"$days" -print
fi
"""
PORTS = """\
echo "Listening TCP ports:"
for table in /proc/net/tcp /proc/net/tcp6; do
    [ -r "$table" ] && awk 'NR > 1 && $4 == "0A" {split($2, part, ":"); print part[length(part)]}' "$table"
done | sort -u | while read -r hex; do printf '%d\\n' "0x$hex"; done | sort -n
"""
SYSTEM = """\
uname -srm
[ -r /etc/os-release ] && sed -n 's/^PRETTY_NAME=//p' /etc/os-release
echo "host $(uname -n), up $(awk '{print int($1 / 86400)}' /proc/uptime) days"
echo "processors $(grep -c '^processor' /proc/cpuinfo)"
awk '/^MemTotal:/ {print "memory " int($2 / 1024) " MiB"}' /proc/meminfo
df -P -k / | awk 'NR == 2 {print "root file system " int($2 / 1048576) " GiB, " $5 " used"}'
"""
BACKUP = """\
source={{input:directory}}
into={{input:into}}
keep={{input:keep}}
[ -d "$source" ] || { echo "$source is no directory" >&2; exit 2; }
mkdir -p "$into"
name="$into/$(basename "$source")-$(date +%Y%m%dT%H%M%S).tar.gz"
tar -czf "$name.part" -C "$(dirname "$source")" "$(basename "$source")"
tar -tzf "$name.part" > /dev/null
mv "$name.part" "$name"
echo "wrote $name, $(wc -c < "$name") bytes"
ls -1t "$into"/"$(basename "$source")"-*.tar.gz | tail -n +$((keep + 1)) | while read -r old; do
    echo "dropped $old"
    rm -f "$old"
done
"""
ZOMBIES = """\
found=0
for dir in /proc/[0-9]*; do
    if awk '/^State:/ {exit $2 != "Z"}' "$dir/status" 2>/dev/null; then
        found=$((found + 1))
        echo "zombie ${dir#/proc/}: parent $(awk '/^PPid:/ {print $2}' "$dir/status" 2>/dev/null)"
    fi
done
echo "$found zombies"
[ "$found" -le {{input:most}} ]
"""


@frozen
class BuiltIn:
    id: str
    name: str
    description: str
    type: str
    params: dict[str, str]
    inputs: tuple[Input, ...] = ()
    schedule: str | None = None


def _number(name: str, default: int, description: str) -> Input:
    return Input(name, "integer", default, description=description)


def _text(name: str, default: str, description: str) -> Input:
    return Input(name, "string", default, description=description)


def _script(id: str, name: str, description: str, script: str, *inputs: Input, schedule: str | None = None) -> BuiltIn:
    params = {"script": "set -u\n" + script, "interpreter": "/bin/sh"}
    return BuiltIn(id, name, description, "script", params, inputs, schedule)


TEMPLATES = (
    _script(
        "disk-usage",
        "Disk usage",
        "Lists the file systems and fails when one is too full.",
        DISK,
        _number("most_percent", 100, "fails above this"),
        schedule="0 * * * *",
    ),
    _script(
        "memory",
        "Memory",
        "Shows memory and swap and fails when too little is available.",
        MEMORY,
        _number("least_percent", 1, "fails below this"),
    ),
    _script(
        "load",
        "Load",
        "Shows the load average and fails when it is too high for the processors.",
        LOAD,
        Input("most_per_processor", "number", 50, description="fails above this"),
    ),
    _script(
        "top-memory",
        "Largest processes",
        "The processes that hold the most memory.",
        PROCESSES,
        _number("count", 10, "how many"),
    ),
    _script(
        "largest-directories",
        "Largest directories",
        "Where the space of a directory goes.",
        LARGEST,
        _text("directory", "/var/log", "where to look"),
        _number("count", 20, "how many"),
    ),
    _script(
        "delete-old-files",
        "Delete old files",
        'Deletes files that were not changed for some days. Unless "really" is true it only lists them.',
        OLD_FILES,
        _text("directory", "/tmp", "where to look"),
        _number("days", 30, "older than this"),
        Input("really", "boolean", default=False, description="delete, and not only list"),
    ),
    _script("listening-ports", "Listening ports", "The TCP ports that something listens on.", PORTS),
    _script("system-summary", "System summary", "Kernel, distribution, uptime, processors, memory, disk.", SYSTEM),
    _script(
        "backup-directory",
        "Back up a directory",
        "A compressed archive of a directory, read back once, with the oldest ones dropped.",
        BACKUP,
        _text("directory", "/etc", "what to keep"),
        _text("into", "/var/backups/opsapp", "where to put it"),
        _number("keep", 7, "how many archives stay"),
    ),
    _script(
        "zombies",
        "Zombie processes",
        "Lists processes that no parent has reaped, and fails when there are too many.",
        ZOMBIES,
        _number("most", 100, "fails above this"),
    ),
    BuiltIn(
        "restart-service",
        "Restart a service",
        "Restarts a service, by whichever manager the host has. Enter its name when you create it.",
        "service_control",
        {"service": "cron", "action": "restart"},
    ),
    BuiltIn(
        "call-address",
        "Call an address",
        "Requests an address and fails when it does not answer well.",
        "webhook",
        {"url": "https://example.org/", "method": "GET"},
    ),
)
BY_ID = {template.id: template for template in TEMPLATES}
LOOKING = [made(ScriptParams, BY_ID[name].params) for name in ("top-memory", "zombies")]  # at all processes


def looks_at_processes(params: ScriptParams) -> bool:
    """Our own words, with nothing added that could change what they do."""
    return replace(params, env=params.env or None, descriptors=params.descriptors or None) in LOOKING


def applied(template: BuiltIn, overrides: JsonObject) -> JsonObject:
    """The settings of an automation; params are put over the template's one by one, all else replaces it."""
    given = overrides.get("params")
    if given is None:
        params: object = template.params
    elif isinstance(given, dict) and overrides.get("type", template.type) == template.type:
        params = {**template.params, **given}
    else:
        params = given
    values = plain(template)
    del values["id"]
    return {**values, **overrides, "params": params}
