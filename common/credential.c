/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/credential.h"

#include <munge.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

static void close_context(munge_ctx_t *context)
{
    if (*context)
        munge_ctx_destroy(*context);
}

static int open_context(const char *socket, munge_ctx_t *ret, struct error *error)
{
    *ret = munge_ctx_create();
    if (!*ret)
        return error_set(error, -ENOMEM, "no memory for munge");
    if (socket && munge_ctx_set(*ret, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS)
        return error_set(error, -EINVAL, "munge: %s", munge_ctx_strerror(*ret));
    return 0;
}

static const struct {
    munge_err_t munge;
    int code;
} codes[] = {
    {EMUNGE_NO_MEMORY, -ENOMEM},         {EMUNGE_BAD_ARG, -EKEYREJECTED},
    {EMUNGE_BAD_LENGTH, -EMSGSIZE},      {EMUNGE_SOCKET, -ENOTCONN},
    {EMUNGE_TIMEOUT, -ENOTCONN},         {EMUNGE_BAD_CRED, -EKEYREJECTED},
    {EMUNGE_BAD_VERSION, -EKEYREJECTED}, {EMUNGE_BAD_CIPHER, -EKEYREJECTED},
    {EMUNGE_BAD_MAC, -EKEYREJECTED},     {EMUNGE_BAD_ZIP, -EKEYREJECTED},
    {EMUNGE_BAD_REALM, -EKEYREJECTED},   {EMUNGE_CRED_INVALID, -EKEYREJECTED},
    {EMUNGE_CRED_EXPIRED, -ETIME},       {EMUNGE_CRED_REWOUND, -ETIME},
    {EMUNGE_CRED_REPLAYED, -EALREADY},   {EMUNGE_CRED_UNAUTHORIZED, -EACCES},
};

static int map_error(munge_err_t failure)
{
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
        if (codes[i].munge == failure)
            return codes[i].code;
    return -EIO;
}

/* The text of the context has more details, if there is one. */
static int report_failure(munge_ctx_t context, munge_err_t failure, struct error *error)
{
    const char *text = munge_ctx_strerror(context);

    return error_set(error, map_error(failure), "munge: %s", text ? text : munge_strerror(failure));
}

int credential_make(const char *socket, uid_t reader, const void *payload, size_t size, char **ret,
                    struct error *error)
{
    CLEANUP(close_context) munge_ctx_t context = NULL;
    _free_ char *text = NULL;
    munge_err_t failure;
    int r = open_context(socket, &context, error);

    if (r < 0)
        return r;
    if (size > CREDENTIAL_PAYLOAD_MAX)
        return error_set(error, -EMSGSIZE, "munge: a payload of %zu bytes is too large", size);
    if (munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, reader) != EMUNGE_SUCCESS)
        return error_set(error, -EINVAL, "munge: %s", munge_ctx_strerror(context));
    failure = munge_encode(&text, context, payload, (int)size);
    if (failure != EMUNGE_SUCCESS)
        return report_failure(context, failure, error);
    *ret = TAKE_PTR(text);
    return 0;
}

int credential_open(const char *socket, const char *text, char **payload, size_t *size,
                    struct credential_maker *maker, struct error *error)
{
    CLEANUP(close_context) munge_ctx_t context = NULL;
    _free_ void *data = NULL;
    _free_ char *copy = NULL;
    munge_err_t failure;
    struct credential_maker found = {0};
    gid_t group;
    int length = 0, r = open_context(socket, &context, error);

    if (r < 0)
        return r;
    /* munge_decode() returns the payload of replayed and expired credentials, too. */
    failure = munge_decode(text, context, &data, &length, &found.uid, &group);
    if (failure != EMUNGE_SUCCESS)
        return report_failure(context, failure, error);
    if (munge_ctx_get(context, MUNGE_OPT_ADDR4, &found.origin) != EMUNGE_SUCCESS)
        found.origin.s_addr = INADDR_ANY;
    copy = malloc((size_t)length + 1);
    if (!copy)
        return error_set(error, -ENOMEM, "no memory for the payload of a credential");
    if (length)
        memcpy(copy, data, (size_t)length);
    copy[length] = '\0';
    *payload = TAKE_PTR(copy);
    *size = (size_t)length;
    *maker = found;
    return 0;
}

void *credential_library(void)
{
    return (void *)munge_encode;
}
