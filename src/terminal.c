/* terminal.c - the user's terminal, by ncurses. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "page.h"
#include "terminal.h"

/* curses has an OK of its own, and names capabilities by words that are used here for other things. */
#undef OK
#include <curses.h>
#include <term.h>
#undef columns

enum { ESCAPE_MS = 25, RESTORE_BYTES = 256, KEY_CTRL_L = 'L' - '@' };

/*
 * What a signal handler needs to put the terminal back: the one thing that can't travel in a struct, because a handler
 * is given nothing.
 */
static struct {
	volatile sig_atomic_t armed;
	struct termios modes;
	char text[RESTORE_BYTES];
	size_t len;
} restore;

static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGQUIT };

static void put_back(void)
{
	ssize_t ignored;

	if (!restore.armed)
		return;
	restore.armed = 0;
	ignored = write(STDOUT_FILENO, restore.text, restore.len);
	(void)ignored;
	tcsetattr(STDIN_FILENO, TCSANOW, &restore.modes);
}

static void crashed(int number)
{
	put_back();
	signal(number, SIG_DFL);
	raise(number);
}

static void add_restore(const char *capability)
{
	size_t len = capability ? strlen(capability) : 0;

	/* Padding, as only terminals of old need it, is not for write(). */
	if (!len || strstr(capability, "$<") || restore.len + len > sizeof(restore.text))
		return;
	memcpy(restore.text + restore.len, capability, len);
	restore.len += len;
}

static void arm(void)
{
	restore.len = 0;
	add_restore(exit_attribute_mode);
	add_restore(keypad_local);
	add_restore(exit_ca_mode);
	add_restore(cursor_normal);
	restore.armed = 1;
}

const char *terminal_why_not(void)
{
	bool can_draw;
	int wrong;

	setlocale(LC_CTYPE, "");
	if (!isatty(STDOUT_FILENO))
		return "standard output is no terminal";
	if (!isatty(STDIN_FILENO))
		return "standard input is no terminal";
	if (setupterm(NULL, STDOUT_FILENO, &wrong) == ERR)
		return "TERM names no terminal that is known here";
	can_draw = cursor_address && clear_screen;
	del_curterm(cur_term); /* terminal_open() makes its own */
	return can_draw ? "" : "TERM names a terminal whose cursor can't be moved";
}

bool terminal_is_ascii(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

static void choose_colors(struct terminal *t)
{
	const char *no = getenv("NO_COLOR");

	t->color = !(no && *no) && has_colors() && start_color() != ERR;
	if (!t->color)
		return;
	use_default_colors();
	init_pair(STYLE_BAR, COLOR_GREEN, -1);
	init_pair(STYLE_GOOD, COLOR_GREEN, -1);
	init_pair(STYLE_WAIT, COLOR_YELLOW, -1);
	init_pair(STYLE_WARN, COLOR_YELLOW, -1);
}

/* Terminals that stay in their usual mode send these, whatever they were told. */
static void define_arrows(void)
{
	static const int keys[] = { KEY_UP, KEY_DOWN, KEY_RIGHT, KEY_LEFT };
	char text[] = "\033[A";

	for (size_t i = 0; i < countof(keys); i++, text[2]++)
		define_key(text, keys[i]);
}

struct err terminal_open(struct terminal *ret)
{
	*ret = (struct terminal){ .ascii = terminal_is_ascii() };
	if (tcgetattr(STDIN_FILENO, &restore.modes))
		return err_errno(errno, "asking the terminal");
	ret->curses = newterm(NULL, stdout, stdin);
	if (!ret->curses)
		return err_at(ERR_OS, 0, "opening the terminal");
	set_term(ret->curses);
	ret->open = true;
	arm();
	for (size_t i = 0; i < countof(crashes); i++)
		signal(crashes[i], crashed);
	atexit(put_back);
	raw(); /* Ctrl-C and Ctrl-Z are keys: a program that was started is not to get them */
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	define_arrows();
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	choose_colors(ret);
	return (struct err){ 0 };
}

void terminal_close(struct terminal *t)
{
	if (!t->open)
		return;
	endwin();
	delscreen(t->curses);
	restore.armed = 0;
	for (size_t i = 0; i < countof(crashes); i++)
		signal(crashes[i], SIG_DFL);
	screen_free(&t->shown);
	t->open = false;
}

void terminal_size(int *rows, int *columns)
{
	struct winsize size = { 0 };

	*rows = 24;
	*columns = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		return;
	*rows = size.ws_row;
	*columns = size.ws_col;
}

static attr_t attributes_of(enum style style)
{
	switch (style) {
	case STYLE_BOLD:
		return A_BOLD;
	case STYLE_DIM:
		return A_DIM;
	case STYLE_HEAD:
	case STYLE_SELECTED:
		return A_REVERSE;
	case STYLE_WARN:
		return A_BOLD;
	default:
		return A_NORMAL;
	}
}

static void draw_cell(const struct terminal *t, int y, int x, const struct cell *cell)
{
	wchar_t text[2] = { (wchar_t)cell->c, 0 };
	short pair = t->color && cell->style >= STYLE_BAR ? (short)cell->style : 0;
	cchar_t out;

	if (setcchar(&out, text, attributes_of(cell->style), pair, NULL) != ERR)
		mvadd_wch(y, x, &out);
}

void terminal_spoilt(struct terminal *t)
{
	screen_free(&t->shown);
	clearok(curscr, TRUE);
}

void terminal_draw(struct terminal *t, const struct screen *s)
{
	if (s->rows != t->shown.rows || s->columns != t->shown.columns) {
		resizeterm(s->rows, s->columns);
		erase();
		clearok(curscr, TRUE);
		screen_free(&t->shown);
		screen_init(&t->shown, s->rows, s->columns, s->ascii);
	}
	for (int y = 0; y < s->rows; y++) {
		for (int x = 0; x < s->columns; x++) {
			const struct cell *cell = screen_cell(s, y, x);
			struct cell *shown = &t->shown.cells[y * s->columns + x];

			if (cell->c == shown->c && cell->style == shown->style)
				continue;
			*shown = *cell;
			if (cell->c) /* the right half came with the left one */
				draw_cell(t, y, x, cell);
		}
	}
	refresh();
}

static int typed_of(int key)
{
	static const struct {
		int curses, typed;
	} keys[] = {
		{ KEY_UP, TYPED_UP },	    { KEY_DOWN, TYPED_DOWN },	    { KEY_LEFT, TYPED_LEFT },
		{ KEY_RIGHT, TYPED_RIGHT }, { KEY_PPAGE, TYPED_PAGE_UP },   { KEY_NPAGE, TYPED_PAGE_DOWN },
		{ KEY_HOME, TYPED_HOME },   { KEY_END, TYPED_END },	    { KEY_ENTER, TYPED_ENTER },
		{ '\n', TYPED_ENTER },	    { KEY_BACKSPACE, TYPED_ERASE }, { KEY_DC, TYPED_ERASE },
	};

	for (size_t i = 0; i < countof(keys); i++)
		if (keys[i].curses == key)
			return keys[i].typed;
	return key < 256 ? key : 0;
}

int terminal_key(struct terminal *t)
{
	int key = getch();

	if (key == ERR)
		return TYPED_NONE;
	if (key == KEY_CTRL_L)
		terminal_spoilt(t);
	return typed_of(key);
}

void terminal_leave(struct terminal *t)
{
	(void)t;
	endwin();
	restore.armed = 0;
}

void terminal_enter(struct terminal *t)
{
	reset_prog_mode();
	terminal_spoilt(t);
	refresh();
	restore.armed = 1;
}
