/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/http/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/http/url.h"
#include "common/cleanup.h"

int http_access_check(const struct http_access *options, struct error *error)
{
    const char *const files[] = {options->ca_file, options->cert_file, options->key_file};

    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        if (files[i] && access(files[i], R_OK) < 0)
            return error_errno(error, -errno, "read \"%s\"", files[i]);
    return 0;
}

/* Checks the open file, so that it is the one that is read. */
static int check_mode_of(int fd, const char *path, struct error *error)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_errno(error, -errno, "read \"%s\"", path);
    /* A pipe is that of a shell: --credentials <(command). */
    if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
        return error_set(error, -EINVAL, "credentials: \"%s\" is not a regular file", path);
    if (st.st_mode & (S_IRWXO | S_IWGRP))
        return error_set(error, -EINVAL,
                         "credentials: \"%s\" is readable by others: chmod 600 \"%s\"", path, path);
    return 0;
}

int http_read_userpwd(const char *path, bool check_mode, char **ret, struct error *error)
{
    _fclose_ FILE *file = NULL;
    char *line = NULL;
    size_t size = 0;
    int r;

    if (!path)
        return 0;
    file = fopen(path, "re");
    if (!file)
        return error_errno(error, -errno, "read \"%s\"", path);
    r = check_mode ? check_mode_of(fileno(file), path, error) : 0;
    if (r < 0)
        return r;
    if (getline(&line, &size, file) < 0 || !strchr(line, ':')) {
        if (line)
            explicit_bzero(line, size);
        free(line);
        return error_set(error, -EINVAL, "\"%s\" does not hold user:password", path);
    }
    line[strcspn(line, "\r\n")] = '\0';
    *ret = line;
    return 0;
}

int http_check_url(const char *url, struct error *error)
{
    struct url parts;
    int r = url_parse(url, &parts);

    /* The message does not show the URL, which contains the password. */
    if (parts.has_user)
        return error_set(error, -EINVAL, "a URL contains a user or password: put them into a file");
    if (r < 0)
        return error_set(error, r, "\"%s\" is not a URL like http://host:9091", url);
    if (!parts.web)
        return error_set(error, -EINVAL, "\"%s\" does not start with http:// or https://", url);
    if (parts.has_query)
        return error_set(error, -EINVAL, "\"%s\" has a query or a fragment", url);
    return 0;
}

int http_check_password(const struct http_access *options, const char *url, struct error *error)
{
    struct url parts;

    if (!options->userpwd_file || options->insecure ||
        (url_parse(url, &parts) == 0 && (parts.encrypted || parts.loopback)))
        return 0;
    return error_set(error, -EINVAL,
                     "credentials: the password would be sent to \"%s\" unencrypted: use https://, "
                     "or set \"insecure = yes\"",
                     url);
}
