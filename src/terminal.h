/* terminal.h - show a screen on the user's terminal, read keys, and leave the terminal as it was found, always. */
#ifndef CSPY_TERMINAL_H
#define CSPY_TERMINAL_H

#include "screen.h"

struct terminal {
	bool open, color, ascii;
	struct screen shown; /* what is on the terminal now */
	void *curses;	     /* SCREEN */
};

/*
 * Is standard output a terminal that a whole screen can be drawn on? "": yes; else why not, in words. Sets the locale's
 * characters, by which `ascii` is told.
 */
const char *terminal_why_not(void);
bool terminal_is_ascii(void); /* after terminal_why_not() */
/* From here on to terminal_close() the terminal shows screens; a crash restores it, too. */
MUST_CHECK struct err terminal_open(struct terminal *ret);
void terminal_close(struct terminal *t);
/* As the terminal says it is now. */
void terminal_size(int *rows, int *columns);
void terminal_draw(struct terminal *t, const struct screen *s);
/* Draw all of it next time: something else wrote to the terminal. */
void terminal_spoilt(struct terminal *t);
/* enum typed; TYPED_NONE when nothing is left. */
int terminal_key(struct terminal *t);
/* Give the terminal back for a while, and take it again. */
void terminal_leave(struct terminal *t);
void terminal_enter(struct terminal *t);

#endif
