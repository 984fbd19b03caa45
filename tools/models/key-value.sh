# SPDX-License-Identifier: Apache-2.0
# A key-value cache: Redis with an append-only file that is synchronized every second, rewritten twice, and saved as a snapshot.
needs="redis-server redis-cli redis-benchmark"
prepare() { :; }
load() {
  redis-server --port 0 --unixsocket "$scratch/socket" --dir "$PWD" --appendonly yes --save '' --daemonize yes --logfile "$scratch/log"
  cli() { redis-cli -s "$scratch/socket" "$@" > "$scratch/reply"; }
  while ! cli ping; do sleep 0.1; done
  for round in 1 2; do
    redis-benchmark -s "$scratch/socket" -c 4 -n 2500 -r 500 -d 400 -t set,lpush -q > "$scratch/bench"
    cli bgrewriteaof; sleep 1.2
  done
  cli save; redis-cli -s "$scratch/socket" shutdown nosave
}
