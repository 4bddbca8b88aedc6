# SPDX-License-Identifier: GPL-2.0-or-later
# SQL files to C. Each file becomes one string, without comments.
#   queries/job_put.sql -> SQL_JOB_PUT and its text in sql_queries[]
#   migrations/0002.sql -> an entry of sql_migrations[] for version 2
#   schema.sql          -> sql_schema
#   clickhouse/ask_job.sql -> sql_clickhouse_ask_job
#   history/jobs.sql -> sql_history_jobs, likewise
# awk -v want=h|c -f embed.awk FILE...

function base(path) {
    sub(/.*\//, "", path)
    sub(/\.sql$/, "", path)
    return path
}

# The name of a text, after its directory.
function part(path) {
    return (path ~ /clickhouse\// ? "sql_clickhouse_" : "sql_history_") base(path)
}

FNR == 1 {
    file = FILENAME
    order[++files] = file
}

!/^[ \t]*(--|$)/ {
    line = $0
    sub(/[ \t]+-- .*$/, "", line)
    gsub(/\\/, "\\\\", line)
    gsub(/"/, "\\\"", line)
    text[file] = text[file] "\n    \"" line "\\n\""
}

END {
    print "/* Made by sql/embed.awk: do not edit. */"
    if (want == "h") {
        print "#ifndef JOBIO_SQL_TEXT_H\n#define JOBIO_SQL_TEXT_H\n"
        print "enum sql_query {"
        for (i = 1; i <= files; i++)
            if (order[i] ~ /queries\//)
                print "    SQL_" toupper(base(order[i])) ","
        print "    SQL_QUERY_COUNT,\n};\n"
        print "struct sql_migration {\n    int version; /* of the store afterwards */\n    const char *text;\n};\n"
        print "extern const char *const sql_queries[SQL_QUERY_COUNT];"
        print "extern const char *const sql_query_names[SQL_QUERY_COUNT];"
        print "extern const char sql_schema[];"
        for (i = 1; i <= files; i++)
            if (order[i] ~ /(clickhouse|history)\//)
                print "extern const char " part(order[i]) "[];"
        print "extern const struct sql_migration sql_migrations[]; /* ends with version 0 */\n"
        print "#endif"
    } else {
        print "#include \"sql/text.h\"\n"
        for (i = 1; i <= files; i++)
            if (order[i] ~ /schema\.sql$/)
                print "const char sql_schema[] =" text[order[i]] ";\n"
            else if (order[i] ~ /(clickhouse|history)\//)
                print "const char " part(order[i]) "[] =" text[order[i]] ";\n"
        print "const char *const sql_queries[SQL_QUERY_COUNT] = {"
        for (i = 1; i <= files; i++)
            if (order[i] ~ /queries\//)
                print "    [SQL_" toupper(base(order[i])) "] =" text[order[i]] ","
        print "};\n\nconst char *const sql_query_names[SQL_QUERY_COUNT] = {"
        for (i = 1; i <= files; i++)
            if (order[i] ~ /queries\//)
                print "    [SQL_" toupper(base(order[i])) "] = \"" base(order[i]) "\","
        print "};\n\nconst struct sql_migration sql_migrations[] = {"
        for (i = 1; i <= files; i++)
            if (order[i] ~ /migrations\//)
                print "    {" base(order[i]) + 0 "," text[order[i]] "},"
        print "    {0, 0},\n};"
    }
}
