# SPDX-License-Identifier: Apache-2.0
# A bare Git repository: two clients clone it, and push and fetch twelve commits in turn; then it is packed. Only the server's side.
needs="git"
prepare() {
  export HOME="$scratch"
  git config --global user.name x; git config --global user.email x@localhost; git config --global init.defaultBranch main
  git init -q "$scratch/first"
  (cd "$scratch/first"; for i in $(seq 1 40); do mkdir -p "p$((i % 5))"; seq "$i" $((i * 20)) > "p$((i % 5))/f$i"; done
   git add .; git commit -qm first)
  git clone -q --bare "$scratch/first" repo.git
}
load() {
  export HOME="$scratch"
  git clone -q "$PWD/repo.git" "$scratch/a"; git clone -q "$PWD/repo.git" "$scratch/b"
  for i in $(seq 1 12); do
    one=a; [ $((i % 2)) = 0 ] && one=b
    (cd "$scratch/$one"; git pull -q --rebase; seq $((i * 3)) $((i * 90)) > "p$((i % 5))/f$i"; git add .
     git commit -qm "change $i"; git push -q)
  done
  git -C repo.git gc -q
}
