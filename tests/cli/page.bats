#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# --html: the file, and how a browser shows it.

load cli.bash

setup_file() {
    export PAGES=$BATS_FILE_TMPDIR DB=$BATS_FILE_TMPDIR/jobio.db
    "$JOBIO_BUILD/tests/cli/make_store" "$DB"
    for kind in rich large evil old; do
        "$JOBIO_BUILD/tests/cli/make_page" $kind > "$PAGES/$kind.html"
    done
    # recorded accounts of real jobs
    for kind in no-space python one-writer; do
        "$JOBIO_BUILD/tests/cli/make_page" "$BATS_TEST_DIRNAME/../data/causes/$kind.json" \
            "$BATS_TEST_DIRNAME/../../contrib/advice" > "$PAGES/$kind.html"
    done
}

# browser [OPTION]... FILE: its output and its log, separately; dark is 0, light is 1
browser() {
    local page=${*: -1}
    HOME=$BATS_TEST_TMPDIR chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --no-first-run --user-data-dir="$BATS_TEST_TMPDIR/profile" --enable-logging=stderr \
        --hide-scrollbars "${@:1:$#-1}" "file://$page" 2> "$BATS_TEST_TMPDIR/log"
}

need_browser() {
    command -v chromium > /dev/null && command -v xmllint > /dev/null || skip "needs chromium and xmllint"
}

# The console has no message about the page: nothing was refused, missing or broken.
console_is_quiet() {
    not grep -E 'CONSOLE|Refused|ERR_' "$BATS_TEST_TMPDIR/log"
}

# measured WIDTH SCHEME KIND: the result of a script that measures the page. In a frame, because a window
# has at least 500 pixels.
measured() {
    local page=$BATS_TEST_TMPDIR/measured.html frame=$BATS_TEST_TMPDIR/frame.html
    sed -e '/Content-Security-Policy/d' -e '/^<\/body>/d' -e '/^<\/html>/d' "$PAGES/$3.html" > "$page"
    cat "$BATS_TEST_DIRNAME/measure.html" >> "$page"
    cat > "$frame" << END
<!DOCTYPE html><body><iframe src="measured.html" style="width: $1px; height: 900px; border: 0"></iframe><pre></pre>
<script>onload = () => document.querySelector("pre").textContent =
    document.querySelector("iframe").contentDocument.getElementById("measured").textContent;</script>
END
    browser --window-size=1400,1000 --allow-file-access-from-files --blink-settings=preferredColorScheme=$2 \
        --dump-dom "$frame" |
        sed -n 's/^MEASURED: //p'
}

@test "job --html: a page in a file, and no other output" {
    split jobio --store "$DB" job 123 --html "$BATS_TEST_TMPDIR/job.html"
    expect 0
    [ -z "$out$err" ]
    page=$(< "$BATS_TEST_TMPDIR/job.html")
    holds "$page" '<svg class="icicle"' '<title>write (libc.so.6): 2.7 s, 96 %</title>'
    holds "$page" '<!DOCTYPE html>' 'Job 123 <span class="name">simulate' /scratch '1000 MiB' '3 ENOENT' \
        '<dd>02:00:00</dd>' 'Complete: 1/1 nodes'
    [ "$(stat -c %a "$BATS_TEST_TMPDIR/job.html")" = "$(printf %o $((0666 & ~$(umask))))" ]
    [ "$(find "$BATS_TEST_TMPDIR" -name 'job.html*' | wc -l)" = 1 ]
    split jobio --store "$DB" job 123 --html -
    expect 0
    [ "$(head -n 1 <<< "$out")" = '<!DOCTYPE html>' ]
}

@test "job --html: no file without a job; no other format with it" {
    split jobio --store "$DB" job 999 --html "$BATS_TEST_TMPDIR/job.html"
    expect 1
    one_line "no such job: 999"
    [ ! -e "$BATS_TEST_TMPDIR/job.html" ]
    for with in --json --all --csv; do
        split jobio --store "$DB" job 123 --html "$BATS_TEST_TMPDIR/job.html" $with
        expect 2
        one_line "--html"
        [ ! -e "$BATS_TEST_TMPDIR/job.html" ]
    done
}

@test "job --html: of one step, and anonymous" {
    split jobio --store "$DB" job 123.batch --html -
    expect 0
    holds "$out" '<h1>Job 123, step batch' '1000 MiB'
    split jobio --store "$DB" job 123 --anonymous --html -
    expect 0
    for name in alice physics simulate /scratch server: 'class="icicle"' "$(date +%Y-)"; do
        [[ $out != *$name* ]] || { echo "$name"; false; }
    done
    holds "$out" '1000 MiB'
}

@test "job --html: a file is complete or unchanged" {
    cd "$BATS_TEST_TMPDIR"
    echo before > job.html
    chmod 600 job.html
    # like a full disk, for this file
    (trap '' XFSZ; ulimit -f 4; jobio --store "$DB" job 123 --html job.html) 2> err && false
    grep -q '^jobio: cannot write "job.html": File too large$' err
    [ "$(cat job.html)" = before ]
    [ "$(ls job.html*)" = job.html ]
    jobio --store "$DB" job 123 --html job.html
    grep -q '</html>' job.html
    [ "$(stat -c %a job.html)" = 600 ]
    split jobio --store "$DB" job 123 --html nowhere/job.html
    expect 1
    one_line 'cannot write "nowhere/job.html": No such file or directory'
    # anything but a regular file is not replaced
    ln -s target.html link.html
    touch target.html
    jobio --store "$DB" job 123 --html link.html
    [ -L link.html ]
    grep -q '</html>' target.html
    split jobio --store "$DB" job 123 --html /dev/full
    expect 1
    one_line "No space left"
}

@test "pages are well-formed, and malicious names stay text" {
    need_browser
    jobio --store "$DB" job 124 --html "$PAGES/124.html"
    for kind in rich large evil old 124; do
        xmllint --noout "$PAGES/$kind.html"
        printable "$PAGES/$kind.html"
        not grep -qE '<(script|img|iframe|link|object)' "$PAGES/$kind.html"
        # only the links of notes refer to other places
        [ -z "$(xmllint --xpath '//@src | //@href[not(starts-with(., "https://docs.example/"))]' \
            "$PAGES/$kind.html" 2> /dev/null)" ]
    done
    grep -q 'a|b?]0;evil??\[31mred' "$PAGES/124.html"
}

@test "a browser shows each page and logs nothing" {
    need_browser
    for kind in rich large evil old; do
        browser --dump-dom "$PAGES/$kind.html" > "$BATS_TEST_TMPDIR/dom"
        console_is_quiet
        [ "$(grep -c '</html>' "$BATS_TEST_TMPDIR/dom")" = 1 ]
        # as many elements as were written: no text became an element
        for element in section table tr th svg path rect figure h2 h3 title style body; do
            want=$(grep -oE "<${element}[ >]" "$PAGES/$kind.html" | wc -l)
            [ "$(grep -oE "<${element}[ >]" "$BATS_TEST_TMPDIR/dom" | wc -l)" = "$want" ] ||
                { echo "$kind: $element"; false; }
        done
    done
}

# Where the section with the failed calls is: first, or nowhere
failures_of() {
    case $1 in
    python | one-writer) echo -1 ;;
    *) echo 0 ;;
    esac
}

@test "text does not overlap, break or leave the page, wide tables say so, and failures come first" {
    need_browser
    for kind in rich large evil old no-space python one-writer; do
        for width in 1280 800 400; do
            [[ $width != 800 || $kind =~ ^(no-space|python|one-writer)$ ]] || continue
            said=$(measured $width 1 $kind)
            [ "$(jq -c .wrong <<< "$said")" = '[]' ] || { echo "$kind at $width: $said"; false; }
            [ "$(jq .looked_at <<< "$said")" -gt 20 ]
            [ "$(jq .width <<< "$said")" = $width ]
            [ "$(jq .failures_at <<< "$said")" = "$(failures_of $kind)" ]
        done
    done
}

@test "text is readable in light and dark mode" {
    need_browser
    light=$(measured 1280 1 rich)
    dark=$(measured 1280 0 rich)
    [ "$(jq -r .background <<< "$light")" = "rgb(255, 255, 255)" ]
    [ "$(jq -r .background <<< "$dark")" = "rgb(20, 23, 28)" ]
    for said in "$light" "$dark"; do
        [ "$(jq '.contrast < 4.5' <<< "$said")" = false ] || { echo "$said"; false; }
    done
}

@test "it can be printed, and its picture is not blank" {
    need_browser
    browser --no-pdf-header-footer --print-to-pdf="$BATS_TEST_TMPDIR/page.pdf" "$PAGES/rich.html"
    console_is_quiet
    [ "$(head -c 5 "$BATS_TEST_TMPDIR/page.pdf")" = %PDF- ]
    [ "$(grep -ac '/Type /Page$' "$BATS_TEST_TMPDIR/page.pdf")" -ge 2 ]
    for scheme in 0 1; do
        browser --window-size=1280,1000 --blink-settings=preferredColorScheme=$scheme \
            --screenshot="$BATS_TEST_TMPDIR/$scheme.png" "$PAGES/rich.html"
        [ "$(stat -c %s "$BATS_TEST_TMPDIR/$scheme.png")" -gt 50000 ]
    done
    not cmp -s "$BATS_TEST_TMPDIR/0.png" "$BATS_TEST_TMPDIR/1.png"
}
