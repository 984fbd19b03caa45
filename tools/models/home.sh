# SPDX-License-Identifier: Apache-2.0
# Home directories, one user: listing, searching, copying, editing in place, packing and removing of documents.
needs="find grep sed tar gzip"
prepare() {
  mkdir -p documents/old mail notes
  for i in $(seq 1 80); do seq "$i" $((i * 40)) > "documents/d$i.txt"; done
  for i in $(seq 1 30); do seq 1 "$i" > "notes/n$i"; done
}
load() {
  for i in 1 2 3 4 5; do
    ls -lR > "$scratch/ls"; find . -name '*.txt' -newer notes/n1 > "$scratch/find"
    grep -rl "$i$i$i" documents > "$scratch/grep"
    cp -r notes "notes.$i"; cat documents/d"$i"*.txt > "documents/all$i"
    sed -i "s/$i/x/" documents/d1"$i".txt documents/d2"$i".txt notes/n"$i"
    mv "notes.$i/n$i" "documents/old/n$i"; tar czf "mail/backup$i.tar.gz" notes "notes.$i"; du -s . > "$scratch/du"
    rm -r "notes.$i"; mkdir "documents/$i"; touch "documents/$i/a" "documents/$i/b"; chmod 600 "documents/$i/a"
  done
}
