#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Change what an ELF library (64 bit, little endian) says about its symbols, in place.

usage: damage.py LIBRARY CHANGE [SYMBOL]
  sections   it has no section headers
  table      the section of the dynamic symbols is somewhere else, so its symbols have wrong names
  sizes      all functions have one byte
  outside    SYMBOL is at an address that the file does not have
  data       SYMBOL is in the constants
  size       SYMBOL has 8 bytes more
  version    MPICH has the version of its ABI that MPICH 3.0 had

The dynamic loader uses neither the section headers nor the sizes, and SYMBOL only for programs that use it.
"""
import struct
import sys

SHT_PROGBITS, SHT_DYNSYM, PT_LOAD, STT_FUNC = 1, 11, 1, 2
VERSION = b"10:0:0\0"  # as long as that of Debian
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

    def symbols(self, name=None):
        """The positions and members of those of a name, or of all functions."""
        _, (_, _, _, _, at, size, link, *_) = self.find(SHT_DYNSYM)
        strings, found = self.section(link)[4], False
        for place in range(at + SYMBOL.size, at + size, SYMBOL.size):
            symbol = SYMBOL.unpack_from(self.data, place)
            wanted = self.text(strings + symbol[0]) == name if name else symbol[1] & 15 == STT_FUNC
            if wanted and symbol[4]:
                found = True
                yield place, symbol
        if not found:
            raise SystemExit(f"no symbol {name}")

    def change_symbols(self, name, value=None, size=None, more=0):
        """Change those of a name, or all functions."""
        for place, (*rest, old_value, old_size) in self.symbols(name):
            SYMBOL.pack_into(
                self.data, place, *rest,
                old_value if value is None else value,
                (old_size if size is None else size) + more)

    def position(self, address):
        """Where the file has it."""
        at, (size, n) = struct.unpack_from("<Q", self.data, 32)[0], struct.unpack_from("<HH", self.data, 54)
        for place in range(at, at + n * size, size):
            kind, _, offset, start, _, length = struct.unpack_from("<IIQQQQ", self.data, place)
            if kind == PT_LOAD and start <= address < start + length:
                return address - start + offset
        raise SystemExit(f"no segment has {address:#x}")


def change_sections(library):
    struct.pack_into("<Q", library.data, 40, 0)
    struct.pack_into("<HH", library.data, 60, 0, 0)


def change_table(library):
    i, section = library.find(SHT_DYNSYM)
    place = library.sections_at + i * SECTION.size
    SECTION.pack_into(library.data, place, *section[:4], section[4] + SYMBOL.size // 2, *section[5:])


def change_version(library):
    for _, (*_, address, size) in library.symbols("MPII_Version_ABI"):
        if size != len(VERSION):
            raise SystemExit(f"the version has {size} bytes")
        at = library.position(address)
        library.data[at : at + size] = VERSION


CHANGES = {
    "sections": change_sections,
    "table": change_table,
    "sizes": lambda library: library.change_symbols(None, size=1),
    "outside": lambda library: library.change_symbols(sys.argv[3], value=1 << 40),
    "data": lambda library: library.change_symbols(
        sys.argv[3], value=library.find(SHT_PROGBITS, ".rodata")[1][3]),
    "size": lambda library: library.change_symbols(sys.argv[3], more=8),
    "version": change_version,
}

with open(sys.argv[1], "r+b") as file:
    library = Library(bytearray(file.read()))
    CHANGES[sys.argv[2]](library)
    file.seek(0)
    file.write(library.data)
