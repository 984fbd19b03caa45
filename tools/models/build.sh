# SPDX-License-Identifier: Apache-2.0
# A program in C: make -j2 of 30 sources with 12 headers, one header changed, made again, and installed.
needs="make gcc"
prepare() {
  mkdir src include
  for h in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "#pragma once
#define V$h $h
static inline int f$h(int x) { return x * V$h; }" > include/h$h.h; done
  for c in $(seq 1 30); do
    echo "#include \"h$((c % 12 + 1)).h\"
#include \"h$((c * 5 % 12 + 1)).h\"
int g$c(int x) { return f$((c % 12 + 1))(x) + f$((c * 5 % 12 + 1))(x); }" > src/c$c.c
  done
  echo 'int g1(int); int main(void) { return g1(0); }' > src/main.c
  printf '%s\n' 'SRC := $(wildcard src/*.c)' 'OBJ := $(SRC:.c=.o)' 'prog: $(OBJ)' '	gcc -o $@ $^' \
    '%.o: %.c' '	gcc -O1 -Iinclude -MMD -c -o $@ $<' 'install: prog' '	install -D prog out/bin/prog' '-include $(OBJ:.o=.d)' > Makefile
}
load() {
  make -s -j2 TMPDIR=.
  echo '#define MORE 1' >> include/h3.h
  make -s -j2 && make -s install
}
