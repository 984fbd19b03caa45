# SPDX-License-Identifier: Apache-2.0
# A data loader: two processes read samples of 2 to 60 KiB in random order from eight shards with an index, three epochs.
needs="python3"
prepare() { for i in 0 1 2 3 4 5 6 7; do head -c 4000000 /dev/urandom > "shard$i"; done; seq 1 2000 > index; }
load() {
  python3 - <<'END'
import os, random
children = []
for worker in range(2):
    children.append(os.fork())
    if children[-1]: continue
    for epoch in range(3):
        with open("index") as f: f.read()
        shards = [os.open(f"shard{i}", os.O_RDONLY) for i in range(8)]
        samples = [(s, at * 60000, random.Random(s * 100 + at).randint(2000, 60000)) for s in range(8) for at in range(60)][worker::2]
        random.shuffle(samples)
        for s, at, n in samples: sum(os.pread(shards[s], n, at)[::64])
        for s in shards: os.close(s)
    os._exit(0)
for child in children: os.waitpid(child, 0)
END
}
