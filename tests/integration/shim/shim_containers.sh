#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A capture beside an application in another container, as in a pod: each has a mount namespace with the volume bound into it, whose
# mounts reach the host and the application. The application's user may use the volume by a further group alone. A rootless container
# captures a volume of its user's.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/capture_helpers.sh"

chmod 755 .
mkdir vol side app
mount -t tmpfs none vol && mount --make-shared vol
chown root:2000 vol && chmod 2770 vol

cat >application <<A
mount --bind $scratch/vol $scratch/app && cd $scratch || exit 1
: >ready
until [ -e go ]; do sleep 0.05; done
grep -c ' $scratch/app fuse.fsshim ' /proc/self/mounts >seen
cd app && setpriv --reuid 1000 --regid 1000 --groups 2000 sh -ec 'echo hello >f; cat f >/dev/null; mkdir d; mv f d/g; rm -r d; echo worked'
A
begin_application() {  # NAME
  rm -f ready go seen
  unshare -m --propagation slave sh ./application >"$1.app" 2>&1 &
  application=$!
  own_process $application
  wait_for test -e ready || not_ok "$1: start" "$(cat "$1.app")"
}
capturing() { # NAME COMMAND...: a capture of the volume in a container's namespaces
  local name=$1
  shift
  "$@" sh -c "mount --bind $scratch/vol $scratch/side && exec fsshim capture $scratch/side -o $name.zst" 2>"$name.err" &
  capture=$!
  own_process $capture
  wait_for mounted vol || not_ok "$name: start" "$(cat "$name.err")"
}
use() { # NAME
  : >go
  wait $application
  check "$1: the application works as without a capture" grep -q '^worked$' "$1.app"
  check "$1: the capture was mounted for the application" grep -q 1 seen
}

start vol host.zst
sh -c "unshare -m -p -f --mount-proc --propagation slave sh ./application >host.app 2>&1" &
application=$!
own_process $application
use host
kill $capture
ends_with 'host: the capture ends well' 0
check 'host: a container that starts later is in the trace, with its processes' sh -c "fstrace dump host.zst | grep -q '/mv rename f -> d/g'"

begin_application shared
capturing shared unshare -m --propagation unchanged
use shared
kill $capture
ends_with 'shared: the capture ends well' 0
check 'shared: each call is in the trace, with its process' sh -c "fstrace dump shared.zst | grep -q '/mv rename f -> d/g'"
check 'shared: nothing stays mounted' sh -c '! grep fuse.fsshim /proc/self/mounts'

begin_application apart
capturing apart unshare -m --propagation unchanged -p -f --mount-proc
use apart
ends_with 'apart: the capture ends by itself, with a status' 1
check 'apart: why, and what to do' grep -Eq 'process outside this pid namespace used .*hostPID' apart.err
check 'apart: nothing stays mounted' sh -c '! grep fuse.fsshim /proc/self/mounts'
check 'apart: the trace says so' closing apart.zst 'used by a process outside this pid namespace'

# As rootless podman: a user's namespaces of users, processes and mounts. /dev/fuse is for everybody, as on ordinary systems.
mkdir -m 777 rootless rootless/vol
cat >inside <<'I'
fsshim capture vol -o refused.zst && exit 1  # /run is the host's
mount -t tmpfs none /run
fsshim capture vol -o rootless.zst --background || exit 1
echo hello >vol/f && mv vol/f vol/g && cat vol/g >/dev/null && echo worked
fsshim stop vol
I
mknod -m 666 fuse c 10 229
cat >outside <<O
mount --bind $scratch/fuse /dev/fuse && cd rootless || exit 1
setpriv --reuid 1000 --regid 1000 --clear-groups unshare --map-root-user -m -p -f --mount-proc sh $scratch/inside
O
unshare -m sh ./outside >rootless.out 2>&1
check 'rootless: no place for the control socket, and what to do' grep -q 'no private directory .*--tmpfs /run' rootless.out
check 'rootless: the application works' grep -q '^worked$' rootless.out
check 'rootless: each call is in the trace, with its process' sh -c "fstrace dump rootless/rootless.zst | grep -q '/mv rename f -> g'"
check 'rootless: the trace is complete' fstrace verify rootless/rootless.zst

check_status 'a container without the device: what to give it' 2 'missing: .*--device /dev/fuse' \
  unshare -m sh -c 'mount -t tmpfs none /dev && fsshim capture vol -o missing.zst'
check_status 'a container without the capability: what to give it' 2 'lacks CAP_SYS_ADMIN.*--cap-add SYS_ADMIN' \
  setpriv --bounding-set -sys_admin fsshim capture vol -o missing.zst

# From the host, by a process of a container whose mounts the host does not have.
mkdir -p private/data
unshare -m --propagation private sh -c 'mount -t tmpfs none private && mkdir private/data && echo $$ >pid && exec sleep 60' &
own_process $!
wait_for test -s pid
for given in "capture" "check" "capture --via kernel --everywhere"; do
  # shellcheck disable=SC2086  # words
  set -- $given "/proc/$(cat pid)/root$scratch/private/data"
  [ "$given" = check ] || set -- "$@" -o elsewhere.zst
  check_status "elsewhere: $given: another mount namespace" 2 'belongs to another mount namespace .*--pod' timeout 20 fsshim "$@"
done

# A directory of this namespace to which its path does not lead.
mkdir -p here/removed here/captured here/covered
check_status 'here: a removed directory' 2 '\.: No such file' sh -c 'cd here/removed && rmdir ../removed && fsshim check .'
check_status 'here: a path that is too long' 2 '\.: File name too long' python3 -c "import os
for name in ['here'] + ['d' * 250] * 20: os.makedirs(name, exist_ok=True); os.chdir(name)
os.execvp('fsshim', ['fsshim', 'check', '.'])"
check_status 'here: a directory that a capture covers' 2 '\.: already captured' \
  sh -c 'cd here/captured && fsshim capture ../captured -o ../../covered.zst --background && fsshim check .'
check 'here: the capture ends' fsshim stop here/captured
check_status 'here: a directory that a mount covers' 2 '\.: covered by a mount; .* give /.*/here/covered$' \
  unshare -m sh -c 'cd here/covered && mount -t tmpfs none ../covered && fsshim capture . -o ../../covered.zst'
