# SPDX-License-Identifier: GPL-2.0-or-later
# The commands of the documentation. Sourced; $tree is the source tree.

# readme NAME [PAGE]: print the block of code after the line <!-- test: NAME -->. Fails if there is none.
readme() {
    awk -v mark="<!-- test: $1 -->" 'index($0, mark) { on = 1; next }
        on && /^ *    [^ ]/ { sub(/ +#.*/, ""); print; found = 1; next }
        on && found { exit }
        END { if (!found) { print "no commands after " mark > "/dev/stderr"; exit 1 } }' "$tree/${2-README.md}"
}
