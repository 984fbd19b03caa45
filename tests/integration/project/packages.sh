#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The packages of what is built: lintian has nothing to say, and installed on a copy of this machine they do what the README says, read
# traces for programs in C, and can be removed again. tests/package/bare-debian does this on a Debian without anything.
. "$(dirname "$0")/../harness/common.sh"
. "$FSR_SOURCE/tests/integration/harness/readme_steps.sh"

# What `meson install` puts somewhere, `ninja uninstall` removes.
check 'meson install' meson install --quiet --no-rebuild -C "$FSR_BUILD" --destdir "$scratch/installed"
check 'the header is there' test -n "$(find installed -name fsr_trace.h)"
check 'ninja uninstall' ninja -C "$FSR_BUILD" uninstall
check 'leaves no file' sh -c '! find installed -not -type d | grep .'

if ! "$FSR_SOURCE/tests/package/build" debs "$FSR_BUILD" >build.log 2>&1; then
  not_ok 'packages are built' "$(tail -n 3 build.log)"
  exit 1
fi
ok 'packages are built'
check 'lintian has nothing to say' lintian --allow-root --fail-on error,warning debs/*.deb

if ! "$FSR_SOURCE/tests/package/build-rpm" rpms "$FSR_BUILD" >build.log 2>&1; then
  not_ok 'rpmbuild makes the packages of the spec file' "$(tail -n 3 build.log)"
else
  ok 'rpmbuild makes the packages of the spec file'
  check 'rpm unpacks them' rpm --root "$scratch/rpm-root" -i --nodeps rpms/*.rpm
  check 'with the README and its pictures' sh -c 'cd rpm-root/usr/share/doc/fsreplay && ls $(grep -o "docs/pictures/[a-z-]*.svg" README.md)'
  check 'with all programs' sh -c 'for p in fsshim fsreplay fstrace fsbench; do rpm-root/usr/bin/$p --version; done'
  check 'with a module for each MPI' sh -c 'ls rpm-root/usr/lib*/*/fsshim/fsr-mpi-mpich.so rpm-root/usr/lib*/*/fsshim/fsr-mpi-openmpi.so'
  check 'and the Python module' sh -c '
    rpm-root/usr/bin/fsreplay mix:nhfsstone memory: --calls 100 --record mix.zst -q >/dev/null
    cd rpm-root/usr/lib/python3/dist-packages
    LD_LIBRARY_PATH=$(dirname ../../*/libfsrtrace.so.0) /usr/bin/python3 -c "
import fsrtrace
assert fsrtrace.open(\"$OLDPWD/mix.zst\").operations > 99"'
fi

# The machine with its packages, but what is written stays in memory.
mkdir memory root
mount -t tmpfs none memory
mkdir memory/{upper,work,tmp}
mount -t overlay -o "lowerdir=/,upperdir=$scratch/memory/upper,workdir=$scratch/memory/work" none root
for kept in dev proc sys; do mount --rbind "/$kept" "root/$kept"; mount --make-rslave "root/$kept"; done
mount --bind memory/tmp root/tmp
cp debs/*.deb memory/tmp
inside() { chroot root env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 sh -euc "$*"; }

check 'they are installed' inside 'dpkg -i /tmp/*.deb'
readme_steps >memory/tmp/steps
check 'the five minutes' inside 'export TMPDIR=/tmp/five && mkdir /tmp/five && bash -eu /tmp/steps'
check 'a capture that mount(8) makes' inside '
  cd /tmp && mkdir mounted
  mount -t fuse.fsshim /tmp/mounted.zst /tmp/mounted && touch mounted/file && fsshim stop /tmp/mounted
  fstrace dump mounted.zst | grep -q "create.*file"'
check 'ranks that mpirun starts' inside '
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  mpirun -np 3 --oversubscribe fsbench nfstest f/tmp | grep -q "Best reading rate"'
check 'the unit' inside 'systemd-analyze --man=no verify /lib/systemd/system/fsshim@.service 2>&1 | (! grep fsshim@)'
check 'the documents and pictures that the README links to' inside '
  cd /usr/share/doc/fsreplay
  for link in $(grep -o "](docs/[^)#]*" README.md | cut -c 3-); do test -s "$link" || { echo "$link"; exit 1; }; done'
check 'manual pages' inside 'for page in fsbench fsreplay fsshim fstrace mount.fuse.fsshim; do man -w $page; done'

inside 'find /usr/share/doc/libfsrtrace-dev/examples -name "slowest.c*" | head -n 1 | xargs zcat -f >/tmp/slowest.c'
flags='-std=c99 -pedantic -Wall -Wextra -Werror'
check 'the example is compiled' inside "cd /tmp && cc $flags slowest.c -o slowest \$(pkg-config --cflags --libs fsrtrace)"
check 'and is short' test "$(wc -l <memory/tmp/slowest.c)" -le 31
check 'the header is C++ too' inside "echo '#include <fsr_trace.h>' | c++ -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c++ -"
inside 'mv /tmp/five/tmp.*/app.zst /tmp'
slowest=$(inside '/tmp/slowest /tmp/app.zst')
counts=$(inside "fstrace sql --csv /tmp/app.zst 'select count(*), sum(error <> 0), max(duration) from ops' | tail -n 1")
check 'it finds what fstrace finds' grep -qx "${counts%%,*} operations, $(cut -d , -f 2 <<<"$counts") failed; .*, ${counts##*,} ns" <<<"$slowest"
paths=$(inside "fstrace sql --csv /tmp/app.zst 'select op || \" of \" || path || \" by \" || command from ops order by duration desc limit 1' | tail -n 1")
check 'and names the same operation' grep -qF "the slowest: $paths, " <<<"$slowest"
inside 'head -c $(($(stat -c %s /tmp/app.zst) / 2)) /tmp/app.zst >/tmp/cut.zst'
check_status 'of a trace that was cut it says so' 1 'cut' inside '/tmp/slowest /tmp/cut.zst'
check_status 'what is no trace is refused' 1 'steps: not a trace' inside '/tmp/slowest /tmp/steps'

check 'Python reads the trace' inside "cd / && /usr/bin/python3 -c '
import fsrtrace
trace = fsrtrace.open(\"/tmp/app.zst\")
assert len(trace.columns(\"kind\")[\"kind\"]) == trace.operations == ${counts%%,*}'"
check 'the notebook is among the examples' inside 'ls /usr/share/doc/python3-fsrtrace/examples/questions.ipynb*'

check 'they are removed' inside 'dpkg -P fsshim fsreplay-mpi fsreplay libfsrtrace-dev python3-fsrtrace libfsrtrace0'
check 'nothing of them is left' inside '! which fsshim fsreplay fstrace && ! ls /usr/lib/*/libfsrtrace* /usr/include/fsr_trace.h /usr/lib/python3/dist-packages/fsrtrace'
