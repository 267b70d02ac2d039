/* json.c - write JSON to a stream. */
#include <math.h>
#include <string.h>

#include "json.h"
#include "utf8.h"

static void escaped(FILE *out, uint32_t c)
{
	static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* character, letter */

	for (const char *l = letters; *l; l += 2) {
		if ((uint32_t)(unsigned char)*l == c) {
			fputc('\\', out);
			fputc(l[1], out);
			return;
		}
	}
	fprintf(out, "\\u%04x", (unsigned)c);
}

void json_text(FILE *out, const char *s)
{
	size_t len;
	uint32_t c;

	fputc('"', out);
	for (; (len = utf8_next(s, &c)); s += len) {
		if (c == '"' || c == '\\' || utf8_is_control(c))
			escaped(out, c);
		else if (c == 0xFFFD)
			fputs(UTF8_REPLACEMENT, out);
		else
			fwrite(s, 1, len, out);
	}
	fputc('"', out);
}

void json_key(FILE *out, const char *key)
{
	json_text(out, key);
	fputc(':', out);
}

void json_number(FILE *out, double v)
{
	char text[64];
	char *comma;

	snprintf(text, sizeof(text), "%.6g", isfinite(v) ? v : 0.0);
	comma = strchr(text, ',');
	if (comma) /* the locale's */
		*comma = '.';
	fputs(text, out);
}
