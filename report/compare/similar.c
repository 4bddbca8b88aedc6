/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/compare/similar.h"

#include <math.h>
#include <string.h>

static double weight(const struct io_mount *m, int op)
{
    const struct io_counter *c = m ? m->io.ops[op] : NULL;

    if (!c)
        return 0;
    return log1p((double)(io_op_is_data((enum io_op)op) ? c->bytes : c->requests));
}

static const struct io_mount *find(const struct io_mounts *mounts, const char *name)
{
    for (size_t i = 0; i < mounts->n; i++)
        if (strcmp(mounts->items[i].mount, name) == 0)
            return &mounts->items[i];
    return NULL;
}

static double squares(const struct io_mounts *mounts)
{
    double sum = 0;

    for (size_t i = 0; i < mounts->n; i++)
        for (int op = 0; op < IO_OP_COUNT; op++)
            sum += weight(&mounts->items[i], op) * weight(&mounts->items[i], op);
    return sum;
}

static double cosine(const struct io_mounts *a, const struct io_mounts *b)
{
    double product = 0, of_a = squares(a), of_b = squares(b);

    if (of_a <= 0 || of_b <= 0)
        return of_a <= 0 && of_b <= 0; /* both did nothing, or only one */
    for (size_t i = 0; i < a->n; i++) {
        const struct io_mount *other = find(b, a->items[i].mount);

        for (int op = 0; other && op < IO_OP_COUNT; op++)
            product += weight(&a->items[i], op) * weight(other, op);
    }
    return fmin(product / sqrt(of_a * of_b), 1);
}

struct similarity similarity_of(const struct job_account *a, const struct job_account *b)
{
    return (struct similarity){
        .same_name = a->name && b->name && strcmp(a->name, b->name) == 0,
        .same_user = a->uid == b->uid,
        .io = cosine(&a->mounts, &b->mounts),
    };
}

int similarity_compare(const struct similarity *a, const struct similarity *b)
{
    int of_a = 2 * a->same_name + a->same_user, of_b = 2 * b->same_name + b->same_user;

    if (of_a != of_b)
        return of_b - of_a;
    return (a->io < b->io) - (a->io > b->io);
}
