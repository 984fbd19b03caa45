#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Linux's own NFS server, Debian's stock kernel in a virtual machine, as the target: what every target must do alike, in version 3
# and in 4.2, of which it offers everything that we use; a mix, whose calls it counts; nconnect; Kerberos.
if [ "${1:-}" != --apart ]; then  # a network of its own, for the ports
  "$(dirname "$0")/../../vm/fetch-kernel" >/dev/null || exit 1
  "$(dirname "$0")/../../vm/fetch-package" nfs-kernel-server >/dev/null || exit 1
  "$(dirname "$0")/../../vm/fetch-package" nfs-common >/dev/null || exit 1
  exec unshare --net "$0" --apart
fi
. "$(dirname "$0")/../harness/common.sh"
ip link set lo up
tests=$FSR_BUILD/tests/integration
utils=$("$FSR_SOURCE/tests/vm/fetch-package" nfs-kernel-server)/usr/sbin

svcgssd=$("$FSR_SOURCE/tests/vm/fetch-package" nfs-common)/usr/sbin/rpc.svcgssd
plugins=/usr/lib/$(gcc -dumpmachine)/libnfsidmap

mkdir share
realm=$("$FSR_SOURCE/tests/servers/kerberos" kerberos) || exit 1
eval "$realm"
own_process "$(cat kerberos/kdc.pid)"
sed 's/127\.0\.0\.1:/10.0.2.2:/' "$KRB5_CONFIG" >share/krb5.conf
cp kerberos/server.keytab share
printf '%s\n' '[General]' 'Local-Realms = TEST.FSREPLAY' '[Translation]' 'Method = nsswitch' 'GSS-Methods = static,nsswitch' \
  '[Static]' 'root/localhost@TEST.FSREPLAY = root' >share/idmapd.conf
truncate -s 512M disk
/usr/sbin/mkfs.ext4 -q -N 65536 disk
"$FSR_SOURCE/tests/vm/run" --share share --disk disk --module nfsd --module ext4 --module rpcsec_gss_krb5 --module cts \
  --program "$utils/exportfs" --program "$utils/rpc.mountd" --program "$utils/rpc.nfsd" --program "$svcgssd" --program "$(PATH=$PATH:/usr/sbin:/sbin command -v rpcbind)" \
  --file /etc/netconfig --file /etc/services --file /etc/protocols --file /etc/rpc --file "$plugins/static.so" --file "$plugins/nsswitch.so" \
  --forward 111:111 --forward 2049:2049 --forward 20048:20048 --forward 32803:32803 "$FSR_SOURCE/tests/vm/knfsd" >console 2>&1 &
vm=$!
for _ in $(seq 600); do
  [ -e share/ready ] && break
  [ -d /proc/$vm ] || break
  sleep 0.2
done
if [ ! -e share/ready ]; then
  not_ok "the guest serves NFS" "$(tail -n 3 console | tr '\n' ' ')"
  touch share/done
  exit 1
fi
ok "the guest serves NFS: $(sed -n 's/^VM-READY //p' console)"

conform() {  # in a virtual machine, thousands of entries take long, and tell nothing new
  "$tests/target_conformance" "$@" --privileged --without 'big directory' --without 'many directories' >cases 2>&1
  [ $? -le 1 ] || not_ok "conformance on $1" "$(tail -n 1 cases)"
  grep -E '^(not )?ok - ' cases
  ! grep -q '^not ok' cases || failures_=1
}
v3='nfs://127.0.0.1/export/v3'  # its portmapper knows the ports
v42='nfs://127.0.0.1/v42?version=4.2'
# The exports are of Linux's default "secure": requests from ports of 1024 and above are refused.
for url in "$v3?resvport=0" "$v42&resvport=0"; do
  check_status "a port that the server refuses: $url" 2 'below 1024, which resvport=0 rules out\? Leave resvport out, or export with .insecure' \
    fsreplay target stat "$url"
done
conform "$v3"
if grep -Eq 'cannot express: (setlk|getlk|flock)$' cases; then not_ok "version 3 has locks" "none"; else ok "version 3 has locks"; fi
check_status "and none with nolock" 0 'cannot express: flock' "$tests/target_conformance" "${v3/v3/nolock}?nolock=1" \
  --without 'big directory' --without 'many directories'
conform "$v42"
if grep -Eq 'cannot express: (fallocate|lseek|copy_file_range|.*xattr)$|not offered' cases; then
  not_ok "of 4.2 it offers all that we use" "$(grep -E 'cannot express|not offered' cases | tr '\n' ' ')"
else
  ok "of 4.2 it offers all that we use"
fi
conform "${v42/v42/several}&nconnect=4&rsize=8192&wsize=8192"

# Kerberos. krb5p fails with this kernel for Linux's own client, too: the server can't decode what it has decrypted.
for url in 'nfs://localhost/export/krb5?sec=krb5' 'nfs://localhost/export/krb5/v3?sec=krb5i' 'nfs://localhost/krb5/v4?version=4.2&sec=krb5'; do
  check_status "a file is made with Kerberos: $url" 0 '' fsreplay target put "$url" file </dev/null
  check_status "and belongs to the user of the ticket" 0 '^-rw[-r]* +1 +0 +0 ' fsreplay target stat "$url" file
  check_status "and is removed" 0 '' fsreplay target rm "$url" file
done
conform 'nfs://localhost/export/krb5/v3?sec=krb5i'
# With Kerberos, this server takes names of owners from version 4 alone, for which it asks an idmapd that the guest does not have.
"$tests/target_conformance" 'nfs://localhost/krb5/v4?version=4.2&sec=krb5' --privileged --without 'big directory' --without 'many directories' >cases 2>&1
grep -E '^ok - ' cases
check_status "version 4.2 with Kerberos: only owners as numbers are refused" 0 '' \
  test "$(grep -c '^not ok' cases)" = "$(grep -cE '^not ok .*(attributes: setattr +gave EINVAL|setattr: owner: stated as exact, answered EINVAL)' cases)" \
  -a "$(grep -c '^ok' cases)" -gt 20
check_status "the server names the flavors that an export takes" 2 'does not allow sec=sys, but sec=krb5, krb5i, krb5p; give sec=krb5 in' \
  fsreplay target stat 'nfs://localhost/krb5?version=4.2'
check_status "and those of its root" 2 "the server's root: the export does not allow sec=krb5i, but sec=sys, krb5; give sec=sys in" \
  fsreplay target stat 'nfs://localhost/krb5?version=4.2&sec=krb5i'

# The requests of a mix, as the report counts them, are those that the server counted beyond what the same run prepares.
stats() {
  touch share/ask
  while [ -e share/ask ]; do sleep 0.05; done
  cp share/stats "$1"
}
mix=(mix:sfs97-v3 "${v42/v42/mix}" --streams 4 --load max -q)
fsreplay "${mix[@]}" --calls 400 --prepare-only >/dev/null 2>&1
stats first
fsreplay "${mix[@]}" --calls 400 --prepare-only >/dev/null 2>&1
stats second
fsreplay "${mix[@]}" --calls 400 --json >mix.json 2>errors
stats third
python3 - >verdict 2>&1 <<'E'
import json
# Without "close", which is part of the OPEN where a file is made and not used.
OPERATIONS = {"access": 3, "commit": 5, "create": 6, "link": 11, "lookup": 15, "open": 18, "read": 25, "readdir": 26,
              "readlink": 27, "remove": 28, "rename": 29, "setattr": 34, "write": 38}
def counts(name):
    line = next(l for l in open(name) if l.startswith("proc4ops"))
    return [int(n) for n in line.split()[2:]]
first, second, third = counts("first"), counts("second"), counts("third")
server = {name: (third[i] - second[i]) - (second[i] - first[i]) for name, i in OPERATIONS.items()}
ours = {name: row.get("wire", 0) for name, row in json.load(open("mix.json"))["mix"]["procedures"].items()}
print({name: (server[name], ours.get(name, 0)) for name in OPERATIONS})
assert sum(server.values()) > 300
assert all(abs(server[name] - ours.get(name, 0)) <= 2 for name in OPERATIONS)
E
if [ $? = 0 ]; then ok "requests on the wire are those that the server counted"; else
  not_ok "requests on the wire are those that the server counted" "$(tail -n 1 verdict) $(head -n 1 verdict) $(cat errors)"
fi

# A file that is open and locked while the server forgets its client goes on, opened and locked anew.
mkdir held
cat >hold.py <<'E'
import fcntl, os, time
log = os.open("held/log", os.O_CREAT | os.O_RDWR, 0o644)
fcntl.lockf(log, fcntl.LOCK_EX, 10)
for i in range(60):
    os.pwrite(log, b"%9d\n" % i, 10 * i)
    os.close(os.open(f"held/new{i}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
    time.sleep(0.05)
fcntl.lockf(log, fcntl.LOCK_UN, 10)
os.close(log)
E
fsshim capture held -o held.zst -- python3 hold.py 2>/dev/null
fsreplay held.zst "${v42/v42/lease}" -q --json >lease.json 2>errors &
replay=$!
sleep 1.5
touch share/expire
wait $replay
status=$?
python3 - $status >verdict 2>&1 <<'E'
import json, sys
report = json.load(open("lease.json"))
counters = {name: n for name, n in report["counters"].items() if n}
print(report["issued"], report["matched"], report["differed"], counters, report.get("mismatches"))
assert report["issued"] == report["operations"] and report["differed"] <= counters.get("operations lost with a session", 0)
# The log, and perhaps a new file that was just to be closed.
assert counters["open files opened again"] in (1, 2) and "locks lost" not in counters
E
if [ $? = 0 ] && [ ! -e share/expire ]; then ok "after its lease has ended an open and locked file is opened and locked anew"; else
  not_ok "after its lease has ended an open and locked file is opened and locked anew" "status $status: $(tr '\n' ' ' <verdict) $(cat errors)"
fi

touch share/done
wait $vm || not_ok "the guest ends well" "$(tail -n 3 console | tr '\n' ' ')"
