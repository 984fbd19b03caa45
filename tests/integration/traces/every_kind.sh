#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program that uses files in every way that has a kind, failing ways and races included, is captured and replayed: every outcome
# is as recorded, and on a directory the trees are the same to the byte.
. "$(dirname "$0")/../harness/common.sh"
apps=$FSR_SOURCE/tests/apps

mkdir share
check 'captured' fsshim capture share -o every.zst --content full -- sh -c "cd share && $apps/every-kind"
for order in strict resource; do
  check "replayed on a directory, order $order" fsreplay every.zst "replayed-$order" --order $order --timing asap -q
  check "the trees are alike, order $order" "$apps/compare-trees" --content --ignore .fsreplay share "replayed-$order"
  check "replayed in memory, order $order" fsreplay every.zst memory: --order $order --timing asap -q
done
