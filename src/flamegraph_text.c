/* flamegraph_text.c - text from an untrusted process made safe to show: cleaned, cut, escaped. */
#include <stdlib.h>
#include <string.h>

#include "flamegraph.h"
#include "utf8.h"

struct range {
	uint32_t first, last;
};

/* Left out: they are invisible or turn text around, so that a name could pass for another; XML forbids the
 * last two. */
static const struct range hidden[] = {
	{ 0xAD, 0xAD },	    { 0x61C, 0x61C },	{ 0x200B, 0x200B }, { 0x200E, 0x200F }, { 0x202A, 0x202E },
	{ 0x2060, 0x206F }, { 0xFEFF, 0xFEFF }, { 0xFFF9, 0xFFFB }, { 0xFFFE, 0xFFFF }, { 0xE0000, 0xE007F },
};

/* Two columns in a fixed-width font; rough on purpose, the graph clips what is wider. */
static const struct range wide[] = {
	{ 0x1100, 0x115F }, { 0x2E80, 0xA4CF }, { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },   { 0xFE30, 0xFE6F },
	{ 0xFF00, 0xFF60 }, { 0xFFE0, 0xFFE6 }, { 0x1F300, 0x1FAFF }, { 0x20000, 0x3FFFD },
};

static bool among(const struct range *list, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= list[i].first && c <= list[i].last)
			return true;
	return false;
}

static size_t encode(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3F));
	out[0] = (char)((0xF00 >> n) | c);
	return n;
}

static size_t width_of(uint32_t c)
{
	return c >= 0x1100 && among(wide, countof(wide), c) ? 2 : 1;
}

/* What is shown for a character; 0: nothing. */
static uint32_t shown(uint32_t c)
{
	if (c == '\t' || c == '\n' || c == '\r')
		return ' ';
	if (utf8_is_control(c) || among(hidden, countof(hidden), c))
		return 0;
	return (c & 0xFFFE) == 0xFFFE ? 0 : c; /* no characters, in any plane */
}

char *flame_clean(const char *s, size_t columns)
{
	/* No character needs more than 4 bytes, takes less than a column, or grows more than a bad byte:
	 * to 3. */
	size_t bytes = strlen(s) * 3, most = columns * 4;
	char *text = xcalloc((bytes < most ? bytes : most) + 3, 1);
	size_t used = 0, taken = 0, fits = 0, len;
	uint32_t c;

	for (; (len = utf8_next(s, &c)); s += len) {
		c = shown(c);
		if (!c)
			continue;
		size_t width = width_of(c);
		if (taken + width > columns) {
			memcpy(text + fits, "..", 3);
			break;
		}
		used += encode(c, text + used);
		taken += width;
		if (taken + 2 <= columns)
			fits = used;
	}
	return text;
}

size_t flame_columns(const char *clean)
{
	size_t columns = 0, len;
	uint32_t c;

	for (; (len = utf8_next(clean, &c)); clean += len)
		columns += width_of(c);
	return columns;
}

void flame_xml(FILE *out, const char *clean)
{
	for (; *clean; clean++) {
		switch (*clean) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*clean, out);
		}
	}
}

void flame_json(FILE *out, const char *clean)
{
	fputc('"', out);
	for (; *clean; clean++) {
		if (*clean == '"' || *clean == '\\')
			fputc('\\', out);
		if (*clean == '<' || *clean == '>' || *clean == '&')
			fprintf(out, "\\u%04x", (unsigned)*clean);
		else
			fputc(*clean, out);
	}
	fputc('"', out);
}

void flame_count(char *buf, size_t cap, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
	size_t used = 0;

	for (int i = 0; i < len && used + 2 < cap; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf[used++] = ',';
		buf[used++] = digits[i];
	}
	buf[used] = '\0';
}

void flame_percent(char *buf, size_t cap, uint64_t part, uint64_t whole)
{
	unsigned n = whole ? (unsigned)((double)part / (double)whole * 10000 + 0.5) : 0;

	snprintf(buf, cap, "%u.%02u%%", n / 100, n % 100);
}
