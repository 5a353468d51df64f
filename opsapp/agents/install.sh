#!/bin/sh
# Installs the opsapp agent on this host and starts it: systemd, OpenRC, runit, or none of them.
# May be run again at any time. `--uninstall` removes everything that it made.
#   --user NAME   run as this user (made if missing) instead of the configured one (agents.run_as, root by default);
#                 an agent that is not root cannot restart services
#   --no-start    install only
#   --allow-plain-http   take a server on another machine without TLS; its network can read the key and all commands
#   --root DIR    put the files below DIR and start nothing (for images)
set -eu
umask 022

SERVER=@SERVER@
PLAIN=@PLAIN@
AGENT_SHA256=@SHA256@
AGENT_ID=${OPSAPP_AGENT_ID:-@AGENT_ID@}
AGENT_KEY=${OPSAPP_AGENT_KEY:-@AGENT_KEY@}
unset OPSAPP_AGENT_KEY

ROOT=${OPSAPP_ROOT:-}; RUN_AS=@RUN_AS@; START=yes; UNINSTALL=no; ALLOW_PLAIN=
[ -z "$ROOT" ] || START=no
while [ $# -gt 0 ]; do
    case $1 in
        --uninstall) UNINSTALL=yes ;;
        --user) RUN_AS=$2; shift ;;
        --no-start) START=no ;;
        --allow-plain-http) ALLOW_PLAIN=" --allow-plain-http" ;;
        --root) ROOT=$2; START=no; shift ;;
        *) echo "unknown option $1" >&2; exit 2 ;;
    esac
    shift
done

say() { echo "opsapp-agent: $*"; }
fail() { echo "opsapp-agent: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

[ -n "$ROOT" ] || [ "$(id -u)" = 0 ] || fail "run this as root"

LIB=$ROOT/usr/local/lib/opsapp-agent
ETC=$ROOT/etc/opsapp-agent
STATE=$ROOT/var/lib/opsapp-agent
UNIT=$ROOT/etc/systemd/system/opsapp-agent.service
OPENRC=$ROOT/etc/init.d/opsapp-agent
RUNIT=$ROOT/etc/sv/opsapp-agent
PIDFILE=/run/opsapp-agent.pid

init_system() {
    if [ -n "${OPSAPP_INIT:-}" ]; then echo "$OPSAPP_INIT"
    elif [ -d /run/systemd/system ]; then echo systemd
    elif [ -d /run/openrc ] || have openrc-run; then echo openrc
    elif have runsvdir || [ -d /run/runit ]; then echo runit
    else echo bare
    fi
}
INIT=$(init_system)

stop_bare() {
    # The lock names whoever runs by now: an update that was undone may have started it anew.
    if [ -s "$STATE/lock" ]; then pid=$(cat "$STATE/lock"); elif [ -f "$PIDFILE" ]; then pid=$(cat "$PIDFILE"); else return 0; fi
    if [ -n "$pid" ] && [ -r "/proc/$pid/cmdline" ] && tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q opsapp-agent; then
        kill "$pid"
        n=0
        while kill -0 "$pid" 2>/dev/null && [ $n -lt 10 ]; do sleep 1; n=$((n + 1)); done
    fi
    rm -f "$PIDFILE"
}

uninstall() {
    if [ -z "$ROOT" ]; then
        case $INIT in
            systemd) systemctl disable --now opsapp-agent.service >/dev/null 2>&1 || true ;;
            openrc) rc-service opsapp-agent stop >/dev/null 2>&1 || true
                    rc-update del opsapp-agent default >/dev/null 2>&1 || true ;;
            runit) sv down opsapp-agent >/dev/null 2>&1 || true ;;
            bare) stop_bare ;;
        esac
        rm -f /etc/service/opsapp-agent /var/service/opsapp-agent
    fi
    rm -f "$UNIT" "$OPENRC"
    rm -rf "$RUNIT" "$LIB" "$ETC" "$STATE"
    if [ -z "$ROOT" ] && [ "$INIT" = systemd ]; then systemctl daemon-reload || true; fi
    say "removed"
}
if [ $UNINSTALL = yes ]; then uninstall; exit 0; fi

[ "$PLAIN" = no ] || [ -n "$ALLOW_PLAIN" ] || fail "the server $SERVER is on another machine and has no TLS: whoever is on the network in between could read the agent's key and send it commands. Use https (web.base_url of the service). If you trust that network, give --allow-plain-http"

PYTHON=
for each in python3 python3.13 python3.12 python3.11 python3.10 python3.9; do
    if have "$each" && "$each" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
        PYTHON=$(command -v "$each")
        break
    fi
done
[ -n "$PYTHON" ] || fail "python3 is missing: Python 3.9 or later is needed"
[ -n "$AGENT_ID" ] && [ -n "$AGENT_KEY" ] || fail "give OPSAPP_AGENT_ID and OPSAPP_AGENT_KEY, or ask for this script with the agent's key"

download() {
    if have curl; then curl -fsS --retry 3 -o "$2" "$1"
    elif have wget; then wget -q -O "$2" "$1"
    else "$PYTHON" -c 'import shutil, sys, urllib.request
with urllib.request.urlopen(sys.argv[1], timeout=60) as got, open(sys.argv[2], "wb") as out:
    shutil.copyfileobj(got, out)' "$1" "$2"
    fi
}
sha256_of() { "$PYTHON" -c 'import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$1"; }

mkdir -p "$LIB" "$ETC" "$STATE"
chmod 700 "$STATE"
fresh=$LIB/.opsapp-agent.pyz.$$
trap 'rm -f "$fresh" "$ETC/.key.new"' EXIT
PROGRAM=$LIB/opsapp-agent.pyz
if [ ! -f "$PROGRAM" ] || [ "$(sha256_of "$PROGRAM")" != "$AGENT_SHA256" ]; then
    if [ -n "${OPSAPP_AGENT_FILE:-}" ]; then cp "$OPSAPP_AGENT_FILE" "$fresh" || fail "cannot copy the agent file"
    else download "$SERVER/api/agents/agent.pyz" "$fresh" || fail "cannot download the agent from $SERVER"
    fi
    [ "$(sha256_of "$fresh")" = "$AGENT_SHA256" ] || fail "the agent file is not the one that this script pins"
    chmod 755 "$fresh"
    PROGRAM=$fresh
fi

if [ ! -f "$ETC/agent.json" ]; then printf '{}\n' >"$ETC/agent.json"; fi
# A builtin writes the key: it is in no process list, and the file is private from its first byte on.
( umask 077; printf '%s\n' "$AGENT_KEY" >"$ETC/.key.new" )
# The key that is there is known to work: the server is asked first whether it takes the new one.
if [ -f "$ETC/key" ] && ! cmp -s "$ETC/key" "$ETC/.key.new"; then
    "$PYTHON" -I "$PROGRAM" --server "$SERVER" --id "$AGENT_ID" --key-file "$ETC/.key.new" --state "$STATE" --config "$ETC/agent.json"$ALLOW_PLAIN --check ||
        fail "$SERVER did not take a report with this id and key; the agent that is here was left as it was. To replace its key all the same, remove $ETC/key first"
fi
[ "$PROGRAM" != "$fresh" ] || mv "$fresh" "$LIB/opsapp-agent.pyz"
mv "$ETC/.key.new" "$ETC/key"
trap - EXIT

if [ "$RUN_AS" != root ] && [ -z "$ROOT" ]; then
    if ! id "$RUN_AS" >/dev/null 2>&1; then
        if have useradd; then useradd --system --home-dir /nonexistent --shell /usr/sbin/nologin "$RUN_AS"
        else adduser -S -D -H -s /sbin/nologin "$RUN_AS"
        fi
    fi
    chown "$RUN_AS" "$ETC/key" "$LIB"
    chown -R "$RUN_AS" "$STATE"
fi

COMMAND="$PYTHON -I /usr/local/lib/opsapp-agent/opsapp-agent.pyz --server $SERVER --id $AGENT_ID --key-file /etc/opsapp-agent/key --state /var/lib/opsapp-agent --config /etc/opsapp-agent/agent.json$ALLOW_PLAIN"

put() { # the file of standard input, only if it differs; says whether it did
    cat >"$1.new"
    chmod "$2" "$1.new"
    if [ -f "$1" ] && cmp -s "$1" "$1.new"; then rm -f "$1.new"; else mv "$1.new" "$1"; fi
}

install_systemd() {
    mkdir -p "$(dirname "$UNIT")"
    put "$UNIT" 644 <<UNIT_END
[Unit]
Description=opsapp agent
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=$COMMAND
User=$RUN_AS
Restart=always
RestartSec=2
KillMode=process
UMask=0077
LockPersonality=yes
RestrictRealtime=yes
KeyringMode=private
CapabilityBoundingSet=~CAP_BLOCK_SUSPEND CAP_SYS_PACCT CAP_WAKE_ALARM
RestrictAddressFamilies=~AF_APPLETALK AF_ATMPVC AF_ATMSVC AF_AX25 AF_DECnet AF_ECONET AF_IPX AF_IRDA AF_NETROM
RestrictAddressFamilies=~AF_PHONET AF_RDS AF_ROSE AF_TIPC AF_X25
SystemCallFilter=~@cpu-emulation @obsolete @raw-io
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
UNIT_END
    [ $START = yes ] || return 0
    systemctl daemon-reload
    systemctl enable opsapp-agent.service >/dev/null 2>&1
    systemctl restart opsapp-agent.service
    systemctl is-active --quiet opsapp-agent.service || fail "the service does not start: see journalctl -u opsapp-agent"
}

install_openrc() {
    mkdir -p "$(dirname "$OPENRC")"
    put "$OPENRC" 755 <<OPENRC_END
#!/sbin/openrc-run
description="opsapp agent"
supervisor=supervise-daemon
command="$PYTHON"
command_args="${COMMAND#"$PYTHON "}"
command_user="$RUN_AS"
respawn_delay=2
depend() { need net; }
OPENRC_END
    [ $START = yes ] || return 0
    rc-update add opsapp-agent default >/dev/null
    rc-service opsapp-agent restart
}

install_runit() {
    mkdir -p "$RUNIT"
    if [ "$RUN_AS" = root ]; then prefix=; else prefix="chpst -u $RUN_AS "; fi
    put "$RUNIT/run" 755 <<RUNIT_END
#!/bin/sh
exec 2>&1
exec $prefix$COMMAND
RUNIT_END
    [ $START = yes ] || return 0
    for services in /etc/service /var/service; do
        if [ -d "$services" ]; then
            ln -sfn /etc/sv/opsapp-agent "$services/opsapp-agent"
            break
        fi
    done
    sv restart opsapp-agent >/dev/null 2>&1 || true
}

install_bare() {
    [ $START = yes ] || return 0
    stop_bare
    if have setsid; then launcher=setsid; else launcher=nohup; fi
    if [ "$RUN_AS" = root ]; then
        $launcher $COMMAND </dev/null >>"$STATE/agent.log" 2>&1 &
    else
        $launcher su -s /bin/sh "$RUN_AS" -c "exec $COMMAND" </dev/null >>"$STATE/agent.log" 2>&1 &
    fi
    echo $! >"$PIDFILE"
    say "no service manager here: it is started now, but not at the next boot"
}

install_"$INIT"
say "installed ($INIT, user $RUN_AS)"
