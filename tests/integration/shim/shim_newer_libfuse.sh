#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fsshim built with a newer libfuse than Debian 12's gives the same answers, over /dev/fuse and over io_uring where the kernel has it.
. "$(dirname "$0")/../harness/common.sh"

switch=/sys/module/fuse/parameters/enable_uring
switched=
put_back() {  # and keep the status
  local status=$?
  if [ -n "$switched" ]; then echo N >"$switch"; fi
  return $status
}
trap 'put_back; finish_' EXIT

old=$FSR_BUILD/shim/fsshim
mkdir d
if ! [ -f "$switch" ]; then
  expected='no FUSE over io_uring: Linux 6.14 or newer'
elif [ "$(cat "$switch")" = N ]; then
  expected='FUSE over io_uring is off: echo Y >'
else
  expected=
fi
if PKG_CONFIG_PATH='' pkg-config --atleast-version=3.18 fuse3; then
  [ -z "$expected" ] || check_status 'io_uring that the kernel does not give' 2 "$expected" "$old" capture d --transport uring -- true
else
  check_status 'io_uring with an older libfuse' 2 'requires libfuse 3.18 or newer' "$old" capture d --transport uring -- true
fi

# Beside the other builds and with their options: ccache has most of it from there.
build=$FSR_SOURCE/build-newer-libfuse
if ! "$FSR_SOURCE/tests/libfuse/build-fsshim" "$build" --prefix=/usr -Dwerror=true "-Dcpp_args=-g1 -fpch-preprocess" >build.log 2>&1; then
  tail -n 30 build.log
  not_ok 'fsshim builds with a newer libfuse' 'see above'
  exit 1
fi
ok 'fsshim builds with a newer libfuse'
mkdir -p build/{shim,tools}
ln -s "$build/shim/fsshim" build/shim/fsshim
ln -s "$FSR_BUILD/tools/fstrace" build/tools/fstrace
export FSR_BUILD=$PWD/build

# $1: transport, $2: what the header says of it
answers() {
  FSR_CAPTURE_OPTIONS="--transport $1" "$FSR_SOURCE/tests/integration/shim/shim_probes.py" --kinds ext4 >probes.log
  sed "s|^\(not ok\|ok\) - |&$1: |" probes.log
  failures_=$((failures_ + $(grep -c '^not ok - ' probes.log)))
  check "$1: captured" build/shim/fsshim capture d -o "$1.zst" --transport "$1" -- python3 -c '
import os
fd = os.open("d", os.O_TMPFILE | os.O_RDWR, 0o640)
os.write(fd, b"x")
os.link(f"/proc/self/fd/{fd}", "d/'"$1"'", src_dir_fd=os.open("/", os.O_PATH), follow_symlinks=True)'
  check "$1: the header says so" grep -q "^transport .*$2, libfuse 3" <(build/tools/fstrace info "$1.zst")
  check "$1: O_TMPFILE is recorded" grep -q 'tmpfile 1' <(build/tools/fstrace info "$1.zst")
}

answers dev /dev/fuse
if [ -f "$switch" ]; then
  if [ "$(cat "$switch")" = N ]; then
    switched=1
    echo Y >"$switch"
  fi
  answers uring io_uring
  check 'fsshim check tells what io_uring costs' grep -Eq -- '--transport uring: .* in a capture' <(build/shim/fsshim check d)
  for count in 8 200; do
    check "io_uring: $count lock requests that wait hold up nothing" \
      timeout -s KILL 100 build/shim/fsshim capture d -o "locks$count.zst" --transport uring -- \
      timeout 90 python3 "$FSR_SOURCE/tests/integration/shim/probes/waiting_locks.py" d/lock $count
  done
  mkdir ram
  mount -t tmpfs -o size=8M none ram
  check 'a tmpfs is captured, without a transport named' build/shim/fsshim capture ram -o ram.zst -- true
  check 'over the device, where locks that wait hold up nothing' grep -q '^transport .*/dev/fuse' <(build/tools/fstrace info ram.zst)
fi
