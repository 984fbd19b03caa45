# SPDX-License-Identifier: Apache-2.0
# readme_steps: the README's five minutes, word for word but for the build, servers and the size of what is copied.
readme_steps() {
  sed -n '/^## Five minutes/,/^## With your servers/s/^    //p' "$FSR_SOURCE/README.md" | grep -v -e meson -e install-deps -e '^export PATH' |
    sed 's#cp -r /usr/include \.#cp -r /usr/include/linux include#'
}
