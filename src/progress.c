/* progress.c - one line on the terminal that says how a recording goes. */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "progress.h"

void progress_init(struct progress *p, bool quiet, bool shared)
{
	*p = (struct progress){ .shown = !quiet && !shared && isatty(STDERR_FILENO) };
}

void progress_draw(struct progress *p, const char *text)
{
	struct winsize size;
	int columns = 80;

	if (!p->shown)
		return;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1)
		columns = size.ws_col;
	/* One column stays free: writing to the last one may wrap. */
	fprintf(stderr, "\r%.*s\033[K", columns - 1, text);
	fflush(stderr);
	p->drawn = true;
}

void progress_fetch(void *arg, const char *name, uint64_t done, uint64_t all)
{
	char text[512], of[32] = "";

	if (all)
		snprintf(of, sizeof(of), " of %.1f", (double)all / 1e6);
	snprintf(text, sizeof(text), "debuginfod: %.300s, %.1f%s MB", name, (double)done / 1e6, of);
	progress_draw(arg, text);
}

void progress_clear(struct progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}
