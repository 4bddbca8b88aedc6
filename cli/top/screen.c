/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ncurses knows the terminals, sends only what has changed, and restores the terminal. */
#define _GNU_SOURCE
#include "cli/top/screen.h"

#include <curses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/output.h"
#include "cli/base/terminal.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/layout.h"

#define ANSWER_MS 2000
#define INTERVAL_MIN (NS_PER_S / 4)
#define INTERVAL_MAX NS_PER_HOUR
#define FIRST_NS (NS_PER_S / 2) /* the first frame must not take longer */
#define WORD_MAX 64
#define CTRL_L 12
#define ESCAPE 27

enum mode { SHOWS_TABLE, SHOWS_HELP, ASKS_USER, ASKS_INTERVAL };

struct screen {
    struct top_watch *watch;
    struct top_view view;
    uint64_t interval_ns, due_ns;
    uint32_t shown, count;
    bool paused, done;
    enum mode mode;
    size_t n_rows;       /* when they were last drawn */
    size_t page;         /* how many rows fit */
    int line;            /* the next one to draw */
    char word[WORD_MAX]; /* the input so far */
    char user[WORD_MAX];
    struct error error;   /* of the last query; "": it succeeded */
    struct error refused; /* the word that was typed; "": none, or there was a key after it */
    attr_t styles[TOP_STYLE_COUNT];
};

/* --- signals ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: interrupts getch() */

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        (void)sigaction(numbers[i], &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* Restore the terminal, then die by that signal. */
static int end_by(int number)
{
    if (number == SIGINT)
        return CLI_OK;
    (void)signal(number, SIG_DFL);
    (void)raise(number);
    return 128 + number;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void choose_styles(struct screen *s)
{
    enum { CYAN = 1, YELLOW, RED };
    bool colour =
        terminal_colour() && has_colors() && start_color() == OK && use_default_colors() == OK;

    if (colour) {
        (void)init_pair(CYAN, COLOR_CYAN, -1);
        (void)init_pair(YELLOW, COLOR_YELLOW, -1);
        (void)init_pair(RED, COLOR_RED, -1);
    }
    s->styles[TOP_STYLE_TITLE] = A_BOLD;
    s->styles[TOP_STYLE_HEADING] = A_REVERSE;
    s->styles[TOP_STYLE_SORTED] = A_REVERSE | A_BOLD;
    s->styles[TOP_STYLE_TOTAL] = A_BOLD;
    s->styles[TOP_STYLE_IDLE] = A_DIM;
    s->styles[TOP_STYLE_MINE] = colour ? COLOR_PAIR(CYAN) : A_BOLD;
    s->styles[TOP_STYLE_WARN] = colour ? COLOR_PAIR(YELLOW) : A_BOLD;
    s->styles[TOP_STYLE_BAD] = colour ? COLOR_PAIR(RED) | A_BOLD : A_BOLD;
}

/* A terminal that is not UTF-8 gets '?' for what it cannot show. */
static void screen_put(void *arg, enum top_style style, const char *text)
{
    const struct screen *s = arg;

    (void)attrset(s->styles[style]);
    if (terminal_utf8()) {
        (void)addstr(text);
    } else {
        for (const unsigned char *c = (const unsigned char *)text; *c; c++)
            if ((*c & 0xc0) != 0x80)
                (void)addch(*c < 0x80 ? *c : '?');
    }
    (void)attrset(A_NORMAL);
}

static void screen_end(void *arg)
{
    struct screen *s = arg;

    (void)move(++s->line, 0);
}

static struct top_paper paper_of(struct screen *s)
{
    return (struct top_paper){.columns = (unsigned)COLS,
                              .bars = true,
                              .utf8 = terminal_utf8(),
                              .put = screen_put,
                              .end = screen_end,
                              .arg = s};
}

/* A safe text, cut at the end of the line. */
static void put_line(struct screen *s, int y, enum top_style style, const char *text)
{
    _free_ char *clean = utf8_sanitize(text);
    _free_ char *cut = clean ? layout_cut(clean, (size_t)COLS) : NULL;

    (void)move(y, 0);
    if (cut)
        screen_put(s, style, cut);
}

/* At most 40 columns wide, the most important keys first. */
static const char *const help[] = {
    "r w m   sort by read, write, metadata",
    "W e     sort by waiting, errors",
    "b       rows: job and mount, job...",
    "u       one user's jobs",
    "i       also what does nothing",
    "space   pause, and go on",
    "+ - d   half, twice, another interval",
    "arrows  scroll",
    "h q     this help, quit",
    "",
    "wait  threads inside I/O calls: 2.00 is",
    "      two that do nothing but wait",
    "size  median of reads and writes",
    "meta  open, stat, unlink and the like",
    "mmap  page faults and dirtied pages",
};

static void draw_help(struct screen *s)
{
    put_line(s, 0, TOP_STYLE_TITLE, "jobio top: who reads, writes or hammers metadata now");
    for (int i = 0; i < (int)ARRAY_SIZE(help) && i + 2 < LINES - 1; i++)
        put_line(s, i + 2, TOP_STYLE_PLAIN, help[i]);
    put_line(s, LINES - 1, TOP_STYLE_IDLE, "any key: back");
}

static void draw_foot(struct screen *s)
{
    static const char *const hints[] = {"r w m W e sort  b group  h help  q quit", "h help  q quit",
                                        "h help"};
    char text[256], count[64] = "";

    if (s->mode == ASKS_USER || s->mode == ASKS_INTERVAL) {
        (void)snprintf(text, sizeof(text), "%s: %s",
                       s->mode == ASKS_USER ? "user (empty: all)" : "interval", s->word);
        put_line(s, LINES - 1, TOP_STYLE_TITLE, text);
        (void)curs_set(1);
        return;
    }
    (void)curs_set(0);
    if (*s->error.text || *s->refused.text) {
        put_line(s, LINES - 1, TOP_STYLE_BAD, *s->error.text ? s->error.text : s->refused.text);
        return;
    }
    if (s->n_rows > s->page)
        (void)snprintf(count, sizeof(count), "  %zu-%zu of %zu", s->view.skip + 1,
                       s->view.skip + s->page < s->n_rows ? s->view.skip + s->page : s->n_rows,
                       s->n_rows);
    (void)snprintf(text, sizeof(text), "%sby %s, most %s first%s%s%s", s->paused ? "PAUSED  " : "",
                   top_by_name(s->view.by), top_key_name(s->view.key),
                   s->view.user ? ", user " : "", s->view.user ? s->view.user : "", count);
    put_line(s, LINES - 1, s->paused ? TOP_STYLE_WARN : TOP_STYLE_IDLE, text);
    for (size_t i = 0; i < ARRAY_SIZE(hints); i++)
        if (strlen(text) + 2 + strlen(hints[i]) <= (size_t)COLS) {
            (void)mvaddstr(LINES - 1, COLS - (int)strlen(hints[i]), hints[i]);
            break;
        }
}

static void draw_rows(struct screen *s)
{
    const struct top_paper paper = paper_of(s);

    s->view.totals = LINES >= 20 ? 4 : LINES >= 14 ? 2 : 1;
    top_draw_head(&paper, &s->watch->frame);
    if (LINES >= 16)
        screen_end(s);
    s->view.lines = LINES > s->line + 3 ? (size_t)(LINES - s->line - 1) : 3;
    s->n_rows = top_draw_table(&paper, &s->watch->frame, &s->view, &s->page);
}

static void draw(struct screen *s)
{
    (void)erase();
    s->line = 0;
    if (s->mode == SHOWS_HELP)
        draw_help(s);
    else if (s->watch->frame.now)
        draw_rows(s);
    else
        put_line(s, 0, TOP_STYLE_PLAIN, "jobio top: waiting for the first reading");
    if (s->mode != SHOWS_HELP) {
        (void)move(LINES - 1, 0);
        (void)clrtoeol();
        draw_foot(s);
    }
    (void)refresh();
}

/* --- keys ------------------------------------------------------------------------------------- */

static void set_interval(struct screen *s, uint64_t interval_ns)
{
    s->interval_ns = interval_ns < INTERVAL_MIN   ? INTERVAL_MIN
                     : interval_ns > INTERVAL_MAX ? INTERVAL_MAX
                                                  : interval_ns;
    s->due_ns = clock_ns(CLOCK_MONOTONIC) + s->interval_ns;
}

static void scroll_by(struct screen *s, int rows)
{
    size_t most = s->n_rows > s->page ? s->n_rows - s->page : 0;
    long to = (long)s->view.skip + rows;

    s->view.skip = to < 0 ? 0 : (size_t)to > most ? most : (size_t)to;
}

static void take_word(struct screen *s)
{
    uint64_t span;

    if (s->mode == ASKS_USER) {
        (void)strcpy(s->user, s->word);
        s->view.user = *s->user ? s->user : NULL;
        s->view.skip = 0;
    } else if (*s->word && units_parse_span(s->word, &span, &s->refused) == 0) {
        set_interval(s, span);
    }
    s->mode = SHOWS_TABLE;
}

static void type_key(struct screen *s, int key)
{
    size_t n = strlen(s->word);

    if (key == '\n' || key == '\r' || key == KEY_ENTER)
        take_word(s);
    else if (key == ESCAPE)
        s->mode = SHOWS_TABLE;
    else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && n)
        s->word[n - 1] = '\0';
    else if (key > ' ' && key < 127 && n + 1 < sizeof(s->word)) {
        s->word[n] = (char)key;
        s->word[n + 1] = '\0';
    }
}

static void quit(struct screen *s, int unused)
{
    (void)unused;
    s->done = true;
}

static void set_mode(struct screen *s, int mode)
{
    s->mode = (enum mode)mode;
    s->word[0] = '\0';
}

static void sort_by(struct screen *s, int key)
{
    s->view.key = (enum top_key)key;
    s->view.skip = 0;
}

static void change_groups(struct screen *s, int unused)
{
    (void)unused;
    s->view.by = (s->view.by + 1) % TOP_BY_COUNT;
    s->view.skip = 0;
}

static void toggle_idle(struct screen *s, int unused)
{
    (void)unused;
    s->view.idle = !s->view.idle;
}

static void toggle_pause(struct screen *s, int unused)
{
    (void)unused;
    s->paused = !s->paused;
}

static void halve_interval(struct screen *s, int unused)
{
    (void)unused;
    set_interval(s, s->interval_ns / 2);
}

static void double_interval(struct screen *s, int unused)
{
    (void)unused;
    set_interval(s, s->interval_ns * 2);
}

static void scroll_pages(struct screen *s, int pages)
{
    scroll_by(s, pages * (int)s->page);
}

static void scroll_to_start(struct screen *s, int unused)
{
    (void)unused;
    s->view.skip = 0;
}

static void scroll_to_end(struct screen *s, int unused)
{
    (void)unused;
    scroll_by(s, (int)s->n_rows);
}

static void redraw(struct screen *s, int unused)
{
    (void)s;
    (void)unused;
    (void)clearok(stdscr, TRUE);
}

static const struct {
    int key;
    void (*run)(struct screen *s, int arg);
    int arg;
} commands[] = {
    {'q', quit, 0},
    {'h', set_mode, SHOWS_HELP},
    {'?', set_mode, SHOWS_HELP},
    {'u', set_mode, ASKS_USER},
    {'d', set_mode, ASKS_INTERVAL},
    {'r', sort_by, TOP_READ},
    {'w', sort_by, TOP_WRITE},
    {'m', sort_by, TOP_META},
    {'W', sort_by, TOP_WAIT},
    {'e', sort_by, TOP_ERRORS},
    {'b', change_groups, 0},
    {'i', toggle_idle, 0},
    {' ', toggle_pause, 0},
    {'+', halve_interval, 0},
    {'-', double_interval, 0},
    {KEY_DOWN, scroll_by, 1},
    {KEY_UP, scroll_by, -1},
    {KEY_NPAGE, scroll_pages, 1},
    {KEY_PPAGE, scroll_pages, -1},
    {KEY_HOME, scroll_to_start, 0},
    {KEY_END, scroll_to_end, 0},
    {CTRL_L, redraw, 0},
};

static void run_command(struct screen *s, int key)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (commands[i].key == key)
            commands[i].run(s, commands[i].arg);
}

static void handle_key(struct screen *s, int key)
{
    if (key == KEY_RESIZE)
        return;
    s->refused.text[0] = '\0';
    if (s->mode == SHOWS_HELP)
        s->mode = SHOWS_TABLE;
    else if (s->mode == SHOWS_TABLE)
        run_command(s, key);
    else
        type_key(s, key);
}

/* --- the loop --------------------------------------------------------------------------------- */

/* Wait for a key or for the next reading. False: the terminal is gone. */
static bool wait_for_key(const struct screen *s, int *key)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), left = s->due_ns > now ? s->due_ns - now : 0;
    struct pollfd p = {.fd = STDIN_FILENO};

    timeout(s->paused ? 60000 : (int)(left / NS_PER_MS + 1));
    *key = getch();
    return *key != ERR || poll(&p, 1, 0) <= 0 || !(p.revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void read_if_due(struct screen *s)
{
    struct error error = {""};
    int r;

    if (s->paused || clock_ns(CLOCK_MONOTONIC) < s->due_ns)
        return;
    r = top_watch_read(s->watch, ANSWER_MS, &error);
    if (r < 0)
        s->error = error;
    else
        s->error.text[0] = '\0';
    s->shown += r > 0;
    s->due_ns = clock_ns(CLOCK_MONOTONIC) + s->interval_ns;
    if (!s->watch->frame.now && s->interval_ns > FIRST_NS)
        s->due_ns = clock_ns(CLOCK_MONOTONIC) + FIRST_NS;
}

static void loop(struct screen *s)
{
    int key;

    while (!s->done && !caught) {
        read_if_due(s);
        draw(s);
        if (s->count && s->shown >= s->count)
            return;
        if (!wait_for_key(s, &key))
            return;
        if (key != ERR)
            handle_key(s, key);
    }
}

int top_screen_run(struct top_watch *watch, const struct top_view *view, uint64_t interval_ns,
                   uint32_t count)
{
    struct screen s = {.watch = watch, .view = *view, .count = count};
    SCREEN *terminal;

    set_interval(&s, interval_ns);
    s.due_ns = 0;
    terminal = newterm(NULL, stdout, stdin);
    if (!terminal) {
        output_error("top: unknown terminal type (TERM): try 'jobio top --once'");
        return CLI_FAILED;
    }
    catch_signals();
    (void)set_escdelay(25);
    (void)cbreak();
    (void)noecho();
    (void)keypad(stdscr, TRUE);
    (void)curs_set(0);
    choose_styles(&s);
    loop(&s);
    (void)endwin();
    delscreen(terminal);
    return caught ? end_by(caught) : CLI_OK;
}

const char *top_screen_built(void)
{
    return NCURSES_VERSION;
}

/* Without its name, which comes first. */
const char *top_screen_running(void)
{
    const char *version = curses_version();
    const char *space = strchr(version, ' ');

    return space ? space + 1 : version;
}
