/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/notes.h"

#include <stdlib.h>
#include <string.h>

#include "collector/daemon/limited_log.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"
#include "common/log.h"

struct notes {
    struct store *store; /* NULL: the writer owns it */
    struct writer *writer;
};

struct note {
    char *key, *value; /* value NULL: remove */
};

static void note_free(struct note *note)
{
    free(note->key);
    free(note->value);
    free(note);
}

static int write_note(struct store *store, void *arg, struct error *error)
{
    struct note *note = arg;

    return store_put_state(store, note->key, note->value, error);
}

static void on_written(int result, const struct error *error, void *arg)
{
    struct note *note = arg;

    if (result < 0)
        log_limited("note", 60, "cannot keep \"%s\": %s", note->key, error->text);
    note_free(note);
}

int notes_create(struct notes **ret, struct store *store, struct error *error)
{
    *ret = calloc(1, sizeof(**ret));
    if (!*ret)
        return error_set(error, -ENOMEM, "no memory");
    (*ret)->store = store;
    return 0;
}

void notes_attach(struct notes *notes, struct writer *writer)
{
    notes->store = NULL;
    notes->writer = writer;
}

void notes_destroy(struct notes *notes)
{
    free(notes);
}

void notes_put(struct notes *notes, const char *key, const char *value)
{
    struct note *note;
    struct error error = {"the queue of the store is full"};
    int r;

    if (!notes->writer) {
        if (notes->store && store_put_state(notes->store, key, value, &error) < 0)
            log_error("cannot keep \"%s\": %s", key, error.text);
        return;
    }
    note = calloc(1, sizeof(*note));
    if (!note)
        return;
    note->key = strdup(key);
    note->value = value ? strdup(value) : NULL;
    r = note->key && (note->value || !value)
            ? writer_submit(notes->writer, false, write_note, on_written, note)
            : -ENOMEM;
    if (r < 0) {
        log_limited("note", 60, "cannot keep \"%s\": %s", key, error.text);
        note_free(note);
    }
}
