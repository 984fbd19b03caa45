#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The NFSv3 target on a real server: what every target must do alike, then what only this one does.
. "$(dirname "$0")/../harness/common.sh"
export tests=$FSR_BUILD/tests/integration
export -f traced

# The server accepts only ports below 1024, as exports of Linux do by default.
NFS_PRIVILEGED_PORT=true "$FSR_SOURCE/tests/servers/ganesha" bash -c '
  failed=0
  mkdir "$NFS_VFS_DIR/small" "$NFS_VFS_DIR/conformance"
  tcpdump -i lo -n -l "tcp[tcpflags] & (tcp-syn | tcp-ack) == tcp-syn" >connects 2>tcpdump.log &
  recorder=$!
  until grep -q listening tcpdump.log || ! [ -d /proc/$recorder ]; do sleep 0.05; done
  "$tests/target_conformance" "${NFS_VFS_URL/vfs/vfs/conformance}" --privileged || failed=1
  kill $recorder
  wait $recorder
  for service in "NFS $NFS_PORT" "MOUNT $MOUNT_PORT" "NLM $NLM_PORT"; do
    from=$(sed -n "s/.* IP [0-9.]*\.\([0-9]*\) > 127\.0\.0\.1\.${service#* }: .*/\1/p" connects | sort -n | tail -n 1)
    if [ "${from:-9999}" -lt 1024 ]; then
      echo "ok - ${service% *} is asked from ports below 1024"
    else
      echo "not ok - ${service% *} is asked from ports below 1024: the highest is ${from:-none}, $(tail -n 2 tcpdump.log)"
      failed=1
    fi
  done
  "$tests/target_conformance" "${NFS_VFS_URL/vfs/vfs/small}&rsize=4096&wsize=4096" || failed=1
  mkdir "$NFS_VFS_DIR/several" "$NFS_VFS_DIR/clients"
  "$tests/target_conformance" "${NFS_VFS_URL/vfs/vfs/clients}&clients=3" || failed=1
  "$tests/target_conformance" "${NFS_VFS_URL/vfs/vfs/several}&nconnect=4" || failed=1
  connections() {  # to the port of NFS, of one session
    traced connects connect fsreplay target stat "$NFS_VFS_URL&nconnect=$1" >/dev/null || return 1
    grep "htons($NFS_PORT)" connects | grep -vc EADDRNOTAVAIL  # as long as the port of an ended connection rests
  }
  one=$(connections 1) four=$(connections 4)
  if [ -n "$one" ] && [ "$((four - one))" = 3 ]; then
    echo "ok - nconnect=4 makes three connections more than nconnect=1"
  else
    echo "not ok - nconnect=4 makes three connections more than nconnect=1: $one, $four"
    failed=1
  fi
  for bad in 0 17 x; do
    if fsreplay target stat "$NFS_VFS_URL&nconnect=$bad" 2>&1 | grep -q "^fsreplay: .*nconnect"; then
      echo "ok - nconnect=$bad is refused"
    else
      echo "not ok - nconnect=$bad is refused: no such message"
      failed=1
    fi
  done
  for url in "nfs4://$NFS_HOST:$NFS_PORT/vfs?vers=4.2&proto=tcp&sec=sys" "nfs://$NFS_HOST:$NFS_PORT/vfs?vers=4" "${NFS_VFS_URL/version/vers}"; do
    if fsreplay target stat "$url" >/dev/null; then
      echo "ok - $url"
    else
      echo "not ok - $url"
      failed=1
    fi
  done
  "$FSR_SOURCE/tests/integration/harness/wire_lines" "$NFS_VFS_URL" getattr || failed=1
  "$FSR_SOURCE/tests/integration/harness/wire_lines" "$NFS4_VFS_URL" "sequence putfh getattr" || failed=1
  for url in "$NFS_VFS_URL" "$NFS4_VFS_URL"; do
    if fsreplay target stat "$url&resvport=1" >/dev/null; then
      echo "ok - a port below 1024 on demand: $url"
    else
      echo "not ok - a port below 1024 on demand: $url"
      failed=1
    fi
    # PATTERN NAME COMMAND...
    told() {
      local pattern=$1 name=$2
      shift 2
      if ! "$@" >/dev/null 2>errors && grep -Eq "$pattern" errors; then
        echo "ok - $name"
      else
        echo "not ok - $name: $(cat errors)"
        failed=1
      fi
    }
    told "port below 1024, which resvport=0 rules out.*insecure" "resvport=0, $url" fsreplay target stat "$url&resvport=0"
    unprivileged="setpriv --reuid 65534 --regid 65534 --clear-groups"
    told "port below 1024, for which .* lacks permission.*setcap.*insecure" "without permission, $url" \
      $unprivileged fsreplay target stat "$url"
    told "resvport=1: no permission" "resvport=1 without permission, $url" $unprivileged fsreplay target stat "$url&resvport=1"
  done
  # The server ends between writes and their fsync, and what it had of them is gone.
  mkdir app "$NFS_VFS_DIR/lossy"
  fsshim capture app -o lossy.zst -- sh -c "
    { head -c 3000000 /dev/urandom; head -c 65536 /dev/zero; } >app/file; truncate -s 2900000 app/file; sleep 3; sync app/file"
  fsreplay lossy.zst reference -q >/dev/null
  lossy=${NFS_VFS_URL/vfs/vfs/lossy}
  fsreplay lossy.zst "$lossy&wsize=65536" -q --json >lossy.json 2>errors &
  replay=$!
  sleep 1.5
  "$FSR_SOURCE/tests/servers/ganesha" --stop
  truncate -s 0 "$NFS_VFS_DIR/lossy/file"
  "$FSR_SOURCE/tests/servers/ganesha" --start
  wait $replay
  counted=$(grep -o "\"\(files\|bytes\) of [^,]*" lossy.json | tr "\n" " ")
  if grep -q "^  \"differed\": 0," lossy.json && cmp reference/file "$NFS_VFS_DIR/lossy/file" && [[ $counted = *" 2900000 "* ]]; then
    echo "ok - data that a restarted server lost is written again before it is committed"
  else
    echo "not ok - data that a restarted server lost is written again before it is committed: $counted, $(cat errors)"
    failed=1
  fi
  if grep -q "\"target\": \"nfs://[^\"]* (NFSv3)\"" lossy.json; then
    echo "ok - the report says which version was spoken"
  else
    echo "not ok - the report says which version was spoken: $(grep "\"target\"" lossy.json)"
    failed=1
  fi
  "$FSR_SOURCE/tests/integration/harness/catch_cases.sh" "$tests/nfs_target_test" || failed=1
  exit $failed' || failures_=1
NFS_GRACE=1 "$FSR_SOURCE/tests/servers/ganesha" \
  "$FSR_SOURCE/tests/integration/harness/catch_cases.sh" "$tests/nfs_target_test" '[grace]' || failures_=1
