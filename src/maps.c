/* maps.c - parse /proc/PID/maps and find an address in it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "cspy/target.h"

static const char deleted[] = " (deleted)";

/* The kernel writes a newline in a path as \012; nothing else is escaped. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; from++) {
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = 0;
}

static bool parse_line(char *line, struct mapping *ret)
{
	char perms[5];
	unsigned major, minor;
	int path_at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &ret->start, &ret->end, perms,
		   &ret->offset, &major, &minor, &ret->inode, &path_at) < 7)
		return false;
	ret->dev = makedev(major, minor);
	ret->prot = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
		    (perms[2] == 'x' ? PROT_EXEC : 0);
	ret->path = path_at ? line + path_at : "";
	ret->deleted = false;
	if (ret->inode && path_at) {
		size_t len = strlen(line + path_at);

		if (len >= sizeof(deleted) && !strcmp(line + path_at + len - (sizeof(deleted) - 1), deleted)) {
			line[path_at + len - (sizeof(deleted) - 1)] = 0;
			ret->deleted = true;
		}
		unescape(line + path_at);
	}
	return ret->end > ret->start;
}

struct err maps_parse(char *text, struct maps *ret)
{
	*ret = (struct maps){ .text = text };
	for (char *line = text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = 0;
		xgrow(&ret->list, &ret->cap, ret->count + 1, sizeof(*ret->list));
		if (parse_line(line, &ret->list[ret->count]))
			ret->count++;
	}
	return ret->count ? OK : err_at(ERR_GONE, 0, "reading the target's maps");
}

void maps_free(struct maps *m)
{
	free(m->list);
	free(m->text);
	*m = (struct maps){ 0 };
}

const struct mapping *maps_find(const struct maps *m, raddr_t at)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (at < m->list[mid].start)
			high = mid;
		else if (at >= m->list[mid].end)
			low = mid + 1;
		else
			return &m->list[mid];
	}
	return NULL;
}
