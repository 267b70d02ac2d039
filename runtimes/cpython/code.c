/* code.c - read one code object: its names, file and line table. */
#include "code.h"

#include <stdlib.h>

#include "objects.h"

enum {
	NAME_CAP = 4096,      /* bytes of a name kept */
	FILENAME_CAP = 8192,  /* bytes of a path kept: twice PATH_MAX */
	LINES_CAP = 16 << 20, /* bytes of a line table */
	CODE_CAP = 256 << 20, /* bytes of bytecode */
	UNIT = 2,	      /* bytes of a code unit, in which 3.11+ states a code object's size */
};

/* The words of a code object, as they stand in the target. */
struct parts {
	raddr_t name, qualname, filename, lines, bytes;
	uint64_t units;
	uint32_t first_line;
};

static struct err read_parts(struct memory *m, const struct cpy_layout *l, raddr_t code, struct parts *ret)
{
	struct memory_range ranges[7];
	size_t n = 0;

	*ret = (struct parts){ 0 };
	ranges[n++] = (struct memory_range){ code + l->code_name, &ret->name, sizeof(ret->name) };
	ranges[n++] = (struct memory_range){ code + l->code_filename, &ret->filename, sizeof(ret->filename) };
	ranges[n++] = (struct memory_range){ code + l->code_lines, &ret->lines, sizeof(ret->lines) };
	ranges[n++] = (struct memory_range){ code + l->code_first_line, &ret->first_line, sizeof(ret->first_line) };
	if (cpy_has(l->code_qualname))
		ranges[n++] = (struct memory_range){ code + l->code_qualname, &ret->qualname, sizeof(ret->qualname) };
	if (cpy_has(l->code_bytes))
		ranges[n++] = (struct memory_range){ code + l->code_bytes, &ret->bytes, sizeof(ret->bytes) };
	else if (cpy_has(l->code_adaptive))
		ranges[n++] = (struct memory_range){ code + l->var_size, &ret->units, sizeof(ret->units) };
	return memory_readv(m, ranges, n, NULL);
}

static struct err read_code_len(struct memory *m, const struct cpy_layout *l, const struct parts *parts, uint32_t *ret)
{
	uint64_t len = parts->units <= CODE_CAP ? parts->units * UNIT : UINT64_MAX;

	if (parts->bytes) {
		struct err e = memory_u64(m, parts->bytes + l->var_size, &len);
		if (failed(e))
			return e;
	}
	if (len > CODE_CAP)
		return err_at(ERR_CORRUPT, parts->bytes, "size of bytecode");
	*ret = (uint32_t)len;
	return OK;
}

static struct err read_lines(struct memory *m, const struct cpy_layout *l, raddr_t table, struct cpy_code *ret)
{
	uint64_t len;
	struct err e = memory_u64(m, table + l->var_size, &len);

	if (failed(e))
		return e;
	if (len > LINES_CAP)
		return err_at(ERR_CORRUPT, table, "size of line table");
	ret->lines = xcalloc(len + 1, 1);
	ret->lines_len = len;
	return len ? memory_read(m, table + l->bytes_data, ret->lines, len) : OK;
}

/* A name that can't be read is "": the frame is worth showing without it. */
static struct err read_name(struct memory *m, const struct cpy_layout *l, raddr_t object, size_t cap, char **ret)
{
	char *buf = xcalloc(cap, 1);
	struct err e = object ? cpy_string(m, l, object, buf, cap) : OK;

	*ret = xstrdup(failed(e) ? "" : buf);
	free(buf);
	return e;
}

struct err cpy_code_read(struct memory *m, const struct cpy_layout *l, raddr_t code, struct cpy_code *ret)
{
	struct parts parts;
	struct err e, name, file;

	*ret = (struct cpy_code){ 0 };
	e = read_parts(m, l, code, &parts);
	if (failed(e))
		return e;
	name = read_name(m, l, parts.name, NAME_CAP, &ret->name);
	file = read_name(m, l, parts.filename, FILENAME_CAP, &ret->filename);
	if (!parts.qualname || failed(read_name(m, l, parts.qualname, NAME_CAP, &ret->qualname))) {
		free(ret->qualname);
		ret->qualname = xstrdup(ret->name);
	}
	ret->first_line = parts.first_line <= INT32_MAX ? parts.first_line : 0;

	/* Neither a name nor a file: that is no code object. One of them alone may be odd. */
	e = failed(name) && failed(file) ? name : read_code_len(m, l, &parts, &ret->code_len);
	if (!failed(e))
		e = read_lines(m, l, parts.lines, ret);
	if (failed(e))
		cpy_code_free(ret);
	return e;
}

void cpy_code_free(struct cpy_code *c)
{
	if (!c)
		return;
	free(c->name);
	free(c->qualname);
	free(c->filename);
	free(c->lines);
	*c = (struct cpy_code){ 0 };
}
