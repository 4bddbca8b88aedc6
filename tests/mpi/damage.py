#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Change what an ELF library (64 bit, little endian) says about its symbols, in place.

usage: damage.py LIBRARY CHANGE [SYMBOL]
  sections   it has no section headers
  table      the section of the dynamic symbols is somewhere else, so its symbols have wrong names
  sizes      all functions have one byte
  outside    SYMBOL is at an address that the file does not have
  data       SYMBOL is in the constants

The dynamic loader uses neither the section headers nor the sizes, and SYMBOL only for programs that call it.
"""
import struct
import sys

SHT_PROGBITS, SHT_DYNSYM, STT_FUNC = 1, 11, 2
SYMBOL = struct.Struct("<IBBHQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")


class Library:
    def __init__(self, data):
        self.data = data
        self.sections_at = struct.unpack_from("<Q", data, 40)[0]
        self.n_sections, self.names_index = struct.unpack_from("<HH", data, 60)

    def section(self, i):
        return SECTION.unpack_from(self.data, self.sections_at + i * SECTION.size)

    def text(self, at):
        return self.data[at : self.data.index(b"\0", at)].decode()

    def find(self, kind, name=None):
        """The number of a section, its position, size, and the section that it links to."""
        names_at = self.section(self.names_index)[4]
        for i in range(self.n_sections):
            section = self.section(i)
            if section[1] == kind and name in (None, self.text(names_at + section[0])):
                return i, section
        raise SystemExit(f"no section {kind} {name}")

    def change_functions(self, name, **changes):
        """Change those of a name, or all."""
        _, (_, _, _, _, at, size, link, *_) = self.find(SHT_DYNSYM)
        strings, found = self.section(link)[4], 0
        for place in range(at + SYMBOL.size, at + size, SYMBOL.size):
            n, info, other, index, value, length = SYMBOL.unpack_from(self.data, place)
            if not value or info & 15 != STT_FUNC or name not in (None, self.text(strings + n)):
                continue
            value, length = changes.get("value", value), changes.get("size", length)
            SYMBOL.pack_into(self.data, place, n, info, other, index, value, length)
            found += 1
        if not found:
            raise SystemExit(f"no symbol {name}")


def change_sections(library):
    struct.pack_into("<Q", library.data, 40, 0)
    struct.pack_into("<HH", library.data, 60, 0, 0)


def change_table(library):
    i, section = library.find(SHT_DYNSYM)
    place = library.sections_at + i * SECTION.size
    SECTION.pack_into(library.data, place, *section[:4], section[4] + SYMBOL.size // 2, *section[5:])


CHANGES = {
    "sections": change_sections,
    "table": change_table,
    "sizes": lambda library: library.change_functions(None, size=1),
    "outside": lambda library: library.change_functions(sys.argv[3], value=1 << 40),
    "data": lambda library: library.change_functions(
        sys.argv[3], value=library.find(SHT_PROGBITS, ".rodata")[1][3]),
}

with open(sys.argv[1], "r+b") as file:
    library = Library(bytearray(file.read()))
    CHANGES[sys.argv[2]](library)
    file.seek(0)
    file.write(library.data)
