/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/source/open.h"

#include "cli/source/clickhouse.h"
#include "cli/source/jobiod.h"
#include "cli/source/node_store.h"

int source_open(const struct cli *cli, struct source **ret, struct error *error)
{
    int rc = clickhouse_source_open(cli, ret, error);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    return cli->store ? store_source_open(cli->store, ret, error)
                      : jobiod_source_open(cli, ret, error);
}
