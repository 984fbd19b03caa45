# SPDX-License-Identifier: Apache-2.0
# SQLite databases, one with a rollback journal and one with a write-ahead log: small transactions and queries of short processes.
needs="sqlite3"
prepare() {
  sqlite3 wal.db "pragma journal_mode=wal; create table t(a integer primary key, b)" > "$scratch/mode"
  sqlite3 roll.db "create table t(a integer primary key, b); create index i on t(b)"
}
load() {
  for i in $(seq 1 30); do
    sqlite3 roll.db "insert into t(b) values(hex(randomblob(300))); select count(*) from t" > "$scratch/n"
    sqlite3 wal.db "insert into t(b) values(hex(randomblob(300))); update t set b=hex(randomblob(200)) where a=$i; select count(*) from t" > "$scratch/n"
  done
}
