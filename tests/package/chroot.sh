# SPDX-License-Identifier: Apache-2.0
# Makes Debian systems with nothing in them, for the scripts in this folder, which source this as root, in a mount namespace of
# their own. Packages come from where this machine has its own from.
FSR_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
name=$(basename "$0")
command -v debootstrap >/dev/null || { echo "$name: apt-get install debootstrap" >&2; exit 2; }

# make_root SUITE ROOT: unless ROOT is there.
make_root() {
  [ -e "$2/usr/bin/apt-get" ] && [ ! -e "$2/debootstrap" ] && return
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/*$')
  quiet debootstrap --variant=minbase --include=ca-certificates "$1" "$2" "$mirror"
}

# ways_to_packages ROOT: those of this machine, also to sources of packages, and if what the mirror has is of an earlier day.
ways_to_packages() {
  cp -a /etc/apt/apt.conf.d/. "$1/etc/apt/apt.conf.d/"
  echo 'Acquire::Check-Valid-Until "false";' >"$1/etc/apt/apt.conf.d/99earlier"
  cp -aL /etc/resolv.conf /etc/hosts "$1/etc/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
  grep -q '^deb-src' "$1/etc/apt/sources.list" || sed -n 's/^deb /deb-src /p' "$1/etc/apt/sources.list" >>"$1/etc/apt/sources.list"
}

# open_root ROOT: it gets devices and ways to packages.
open_root() {
  ways_to_packages "$1"
  mount --bind "$1" "$1"  # a capture looks for its directory among the mounts
  local kept
  for kept in dev proc sys; do mount --rbind "/$kept" "$1/$kept"; mount --make-rslave "$1/$kept"; done
}

inside() {
  chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive FSR_SOURCE=/source \
    bash -euo pipefail -c "$2" </dev/null
}

# copy_source ROOT: to its /source. What is copied is newer than what was built of it.
copy_source() {
  local file
  git -C "$FSR_SOURCE" ls-files -z | while IFS= read -r -d '' file; do
    cmp -s "$FSR_SOURCE/$file" "$1/source/$file" || install -D "$FSR_SOURCE/$file" "$1/source/$file"
    chmod --reference="$FSR_SOURCE/$file" "$1/source/$file"  # debhelper runs lists of files that may be executed
  done
}

# quiet COMMAND...: shows the end of what it printed if it fails, and ends this script.
quiet() { "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }; }
