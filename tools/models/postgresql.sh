# SPDX-License-Identifier: Apache-2.0
# PostgreSQL: pgbench with two clients, scale 1, for six seconds; a checkpoint at its end. The server runs as user postgres.
needs="postgres initdb pgbench setpriv"
as_postgres() { setpriv --reuid postgres --regid postgres --clear-groups env HOME=/ "$@"; }
prepare() {
  chown postgres . "$scratch"; chmod 711 .. "$scratch"
  as_postgres initdb -D data -A trust > "$scratch/initdb" 2>&1
  printf '%s\n' "listen_addresses=''" "unix_socket_directories='$scratch'" 'shared_buffers=4MB' 'autovacuum_naptime=2' >> data/postgresql.conf
  as_postgres pg_ctl -D data -w -s -l "$scratch/log" start
  as_postgres pgbench -h "$scratch" -q -i -s 1 postgres > "$scratch/init" 2>&1
  as_postgres pg_ctl -D data -w -s stop
}
load() {
  as_postgres pg_ctl -D data -w -s -l "$scratch/log" start
  as_postgres pgbench -h "$scratch" -c 2 -T 6 postgres > "$scratch/bench" 2>&1
  as_postgres pg_ctl -D data -w -s stop
}
