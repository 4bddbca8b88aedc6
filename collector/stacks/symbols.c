/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/stacks/symbols.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/stacks/libdw.h"

/* Bytes of a name, at most: those of templates can be very long. */
#define NAME_MAX_BYTES 255

/* A file whose symbols have been looked for. */
struct table {
    Dwfl *dwfl;          /* owned; NULL: not yet, or it failed */
    Dwfl_Module *module; /* of dwfl; NULL: there are no symbols */
    GElf_Addr bias;
};

struct symbols {
    const struct code_files *files;
    const struct perf_maps *maps;
    size_t n;
    struct table tables[]; /* by file */
};

struct symbols *symbols_create(const struct code_files *files, const struct perf_maps *maps)
{
    size_t n = code_files_count(files);
    struct symbols *symbols = calloc(1, sizeof(*symbols) + n * sizeof(*symbols->tables));

    if (!symbols)
        return NULL;
    symbols->files = files;
    symbols->maps = maps;
    symbols->n = n;
    return symbols;
}

void symbols_destroy(struct symbols *symbols)
{
    for (size_t i = 0; symbols && i < symbols->n; i++)
        if (symbols->tables[i].dwfl)
            libdw.dwfl_end(symbols->tables[i].dwfl);
    free(symbols);
}

static void open_table(struct symbols *symbols, uint64_t file)
{
    struct table *table = &symbols->tables[file];
    Elf *elf = code_files_elf(symbols->files, file);

    if (!elf)
        return;
    table->dwfl = libdw.dwfl_begin(libdw_callbacks());
    if (!table->dwfl)
        return;
    libdw.dwfl_report_begin(table->dwfl);
    table->module = libdw_report(table->dwfl, code_files_name(symbols->files, file), elf, 0);
    (void)libdw.dwfl_report_end(table->dwfl, NULL, NULL);
    if (table->module && !libdw.dwfl_module_getelf(table->module, &table->bias))
        table->module = NULL;
}

static const char *find(struct symbols *symbols, const struct code_place *place)
{
    struct table *table = &symbols->tables[place->file];

    if (code_files_has_changed(symbols->files, place->file))
        return NULL;
    if (!table->dwfl)
        open_table(symbols, place->file);
    return table->module ? libdw.dwfl_module_addrname(table->module, place->address + table->bias)
                         : NULL;
}

static void write_bytes(const char *text, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];

        (void)fputc(c == ';' ? ':' : c < ' ' || c > '~' ? '?' : c, out);
    }
}

void symbols_write_text(const char *text, FILE *out)
{
    write_bytes(text, strlen(text), out);
}

static void write_python(const struct symbols *symbols, uint64_t number, FILE *out)
{
    const char *name = perf_maps_name(symbols->maps, number);
    size_t n = strcspn(name, "\t");

    write_bytes(name, n, out);
    (void)fputc('\t', out);
    symbols_write_text(name + n + 1, out);
}

void symbols_write(struct symbols *symbols, const struct code_place *place, FILE *out)
{
    bool known = place->file < symbols->n;
    const char *name = known ? find(symbols, place) : NULL;

    if (name) {
        size_t n = strcspn(name, "@"); /* without its version */

        write_bytes(name, n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES, out);
        (void)fputc('\t', out);
        symbols_write_text(code_files_name(symbols->files, place->file), out);
    } else if (known) {
        const char *build_id = code_files_build_id(symbols->files, place->file);

        (void)fputc('[', out);
        symbols_write_text(code_files_name(symbols->files, place->file), out);
        (void)fprintf(out, "+0x%" PRIx64 "]%s%s", place->address, *build_id ? "\t" : "", build_id);
    } else if (place->file == CODE_PYTHON) {
        write_python(symbols, place->address, out);
    } else {
        (void)fputs("[unknown]", out);
    }
}
