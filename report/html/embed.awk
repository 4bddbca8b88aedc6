# SPDX-License-Identifier: GPL-2.0-or-later
# Files of the page to C: page.css becomes page_css. Comment lines and empty ones are left out.
# awk -v want=h|c -f embed.awk FILE...

FNR == 1 {
    name = FILENAME
    sub(/.*\//, "", name)
    gsub(/[^a-z]/, "_", name)
    names[++files] = name
}

!/^[ \t]*(\/\*.*\*\/)?[ \t]*$/ {
    line = $0
    sub(/^[ \t]+/, "", line)
    gsub(/\\/, "\\\\", line)
    gsub(/"/, "\\\"", line)
    text[files] = text[files] "\n    \"" line "\\n\""
}

END {
    print "/* Made by report/html/embed.awk: do not edit. */"
    if (want == "h")
        print "#ifndef JOBIO_REPORT_HTML_PAGE_H\n#define JOBIO_REPORT_HTML_PAGE_H\n"
    else
        print "#include \"report/html/page.h\"\n"
    for (i = 1; i <= files; i++)
        if (want == "h")
            print "extern const char " names[i] "[];"
        else
            print "const char " names[i] "[] =" text[i] ";"
    if (want == "h")
        print "\n#endif"
}
