/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/http/access.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static bool has_part(CURLU *parsed, CURLUPart part)
{
    char *text = NULL;
    bool found = curl_url_get(parsed, part, &text, 0) == CURLUE_OK;

    curl_free(text);
    return found;
}

static int check_parts(CURLU *parsed, const char *url, struct error *error)
{
    char *scheme = NULL;
    bool http = curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);

    curl_free(scheme);
    if (!http)
        return error_set(error, -EINVAL, "\"%s\" does not start with http:// or https://", url);
    /* The message does not show the URL, which contains the password. */
    if (has_part(parsed, CURLUPART_USER) || has_part(parsed, CURLUPART_PASSWORD))
        return error_set(error, -EINVAL, "a URL contains a user or password: put them into a file");
    if (has_part(parsed, CURLUPART_QUERY) || has_part(parsed, CURLUPART_FRAGMENT))
        return error_set(error, -EINVAL, "\"%s\" has a query or a fragment", url);
    return 0;
}

int http_check_url(const char *url, struct error *error)
{
    CURLU *parsed = curl_url();
    CURLUcode code;
    int rc;

    if (!parsed)
        return error_errno(error, -ENOMEM, "URL");
    code = curl_url_set(parsed, CURLUPART_URL, url, 0);
    if (code == CURLUE_OK)
        rc = check_parts(parsed, url, error);
    else if (code == CURLUE_OUT_OF_MEMORY)
        rc = error_errno(error, -ENOMEM, "URL");
    else
        rc = error_set(error, -EINVAL, "\"%s\" is not a URL like http://host:9091", url);
    curl_url_cleanup(parsed);
    return rc;
}

bool http_is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (strncmp(host, "127.", 4) == 0 && host[strspn(host, "0123456789.")] == '\0');
}

static bool is_https(const char *scheme)
{
    return strcmp(scheme, "https") == 0;
}

static bool part_is(CURLU *parsed, CURLUPart part, bool (*test)(const char *text))
{
    char *text = NULL;
    bool is = curl_url_get(parsed, part, &text, 0) == CURLUE_OK && test(text);

    curl_free(text);
    return is;
}

int http_check_password(const struct http_access *options, const char *url, struct error *error)
{
    CURLU *parsed;
    bool safe;

    if (!options->userpwd_file || options->insecure)
        return 0;
    parsed = curl_url();
    if (!parsed)
        return error_errno(error, -ENOMEM, "URL");
    safe = curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
           (part_is(parsed, CURLUPART_SCHEME, is_https) ||
            part_is(parsed, CURLUPART_HOST, http_is_loopback));
    curl_url_cleanup(parsed);
    if (safe)
        return 0;
    return error_set(error, -EINVAL,
                     "credentials: the password would be sent to \"%s\" unencrypted: use https://, "
                     "or set \"insecure = yes\"",
                     url);
}
