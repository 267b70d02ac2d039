/* jitdump.c - follow the dump that a JIT writes of its code, as it grows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cspy/sampler.h"
#include "intervals.h"
#include "jit_name.h"
#include "jitdump.h"
#include "map64.h"

/* Upstream: the Linux kernel's tools/perf/Documentation/jitdump-specification.txt. */
enum {
	HEADER = 40,
	HEADER_MAX = 4096,
	RECORD_HEAD = 16,
	LOAD_NAME = 56, /* in a record of loaded code */
	MOVE_BYTES = 64,
	DEBUG_HEAD = 32,
	ENTRY_HEAD = 16,
};
static const uint32_t magic = 0x4A695444;

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE };

enum {
	BUFFER = 1 << 16,
	NAME_MAX_BYTES = 1024,
	TAKEN_MAX = LOAD_NAME + NAME_MAX_BYTES, /* of one record */
	LOADS_MAX = 1 << 19,			/* the newest */
	DEBUG_MAX = 1 << 20,			/* bytes of one function's lines */
	READ_MAX = 64 << 20,			/* in one look: the rest waits for the next */
	OFFSET_BITS = 30,
	/* V8 counts its lines' addresses from before an ELF header that perf may put there. */
	V8_LINES_BEHIND = 0x40,
};
static const uint64_t BYTES_MAX = 4ull << 30; /* in all */
static const uint64_t CODE_BYTES_MAX = 1ull << OFFSET_BITS;
static const uint64_t OPEN_NS = 1000000000; /* between looks whether the process has one */
static const uint64_t NUMBER_SHIFT = 1, GLUE = 1;

/* Where the file says what of some code. */
struct load {
	uint64_t record, debug; /* debug 0: it has no lines */
	raddr_t start;		/* where the code lay when it was loaded */
};

struct jitdump {
	struct target *target; /* borrowed */
	int fd;		       /* -1: there is none */
	bool broken;	       /* no dump, or nonsense: nothing more is read */
	uint64_t opened_ns;    /* last looked for it */
	uint64_t marked;       /* its size at the mark */
	uint64_t offset;       /* of the next record; 0: of the header */
	uint64_t total;	       /* bytes read */
	uint32_t generation;
	uint64_t debug_at; /* the last lines, which are for the code that is loaded next there */
	raddr_t debug_start;
	struct load *loads; /* a ring, by number */
	size_t cap;
	uint64_t count; /* of all that were met */
	struct intervals code;
	uint8_t buffer[BUFFER];
};

/* ---- The file ---- */

static bool is_name(const struct target *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[64];

	snprintf(name, sizeof(name), "jit-%d.dump", (int)t->ns_pid);
	return slash && !strcmp(slash + 1, name);
}

static int open_dump(struct target *t)
{
	for (size_t i = 0; i < t->maps.count; i++) {
		const struct mapping *m = &t->maps.list[i];
		int fd;

		if (m->prot & PROT_EXEC && is_name(t, m->path) && !failed(target_open_mapping(t, m, &fd)))
			return fd;
	}
	return -1;
}

bool jitdump_exists(struct target *t)
{
	CLEANUP(cleanup_close) int fd = open_dump(t);

	return fd >= 0;
}

struct jitdump *jitdump_new(struct target *t)
{
	struct jitdump *d = xcalloc(1, sizeof(*d));

	d->target = t;
	d->fd = open_dump(t);
	d->opened_ns = clock_now();
	jitdump_mark(d);
	return d;
}

void jitdump_free(struct jitdump *d)
{
	if (!d)
		return;
	cleanup_close(&d->fd);
	intervals_free(&d->code);
	free(d->loads);
	free(d);
}

void jitdump_mark(struct jitdump *d)
{
	struct stat st;

	if (d->fd >= 0 && fstat(d->fd, &st) == 0)
		d->marked = (uint64_t)st.st_size;
}

/* ---- Its records ---- */

static uint32_t get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static bool is_range(raddr_t start, uint64_t size)
{
	return size && size <= CODE_BYTES_MAX && start <= UINT64_MAX - size;
}

static void put(struct jitdump *d, raddr_t start, uint64_t size, struct load load, bool is_glue)
{
	if (d->count < LOADS_MAX)
		xgrow(&d->loads, &d->cap, (size_t)d->count + 1, sizeof(*d->loads));
	d->loads[d->count % LOADS_MAX] = load;
	intervals_put(&d->code,
		      (struct interval){ start, start + size, d->count << NUMBER_SHIFT | (is_glue ? GLUE : 0) });
	d->count++;
}

static const struct load *load_of(const struct jitdump *d, uint64_t number)
{
	return number < d->count && d->count - number <= LOADS_MAX ? &d->loads[number % LOADS_MAX] : NULL;
}

static void take_load(struct jitdump *d, const uint8_t *r, size_t len, uint64_t at)
{
	raddr_t start = len > LOAD_NAME ? get64(r + 32) : 0;
	uint64_t size = len > LOAD_NAME ? get64(r + 40) : 0;
	struct load load = { at, start == d->debug_start ? d->debug_at : 0, start };
	const char *name = (const char *)r + LOAD_NAME;

	d->debug_at = 0;
	if (is_range(start, size))
		put(d, start, size, load, jit_name_is_glue(name, strnlen(name, len - LOAD_NAME)));
}

static void take_move(struct jitdump *d, const uint8_t *r, size_t len)
{
	struct interval old;
	const struct load *load;
	raddr_t to;

	if (len < MOVE_BYTES || !intervals_find(&d->code, get64(r + 32), &old) || old.start != get64(r + 32))
		return;
	load = load_of(d, old.value >> NUMBER_SHIFT);
	to = get64(r + 40);
	if (load && is_range(to, old.end - old.start))
		put(d, to, old.end - old.start, *load, old.value & GLUE);
}

static void take_record(struct jitdump *d, const uint8_t *r, size_t len, uint64_t at)
{
	switch (get32(r)) {
	case CODE_LOAD:
		take_load(d, r, len, at);
		break;
	case CODE_MOVE:
		take_move(d, r, len);
		break;
	case CODE_DEBUG_INFO:
		d->debug_at = len >= DEBUG_HEAD ? at : 0;
		d->debug_start = d->debug_at ? get64(r + RECORD_HEAD) : 0;
		break;
	default: /* of no use here, or of a later version */
		break;
	}
}

/* The records of the buffer of which what is wanted lies in it, and which are whole in the file. What they are long. */
static uint64_t take_records(struct jitdump *d, size_t len)
{
	uint64_t at = 0;

	while (at < len && len - at >= RECORD_HEAD) {
		const uint8_t *r = d->buffer + at;
		uint32_t size = get32(r + 4);
		size_t wanted = size < TAKEN_MAX ? size : TAKEN_MAX;

		if (size < RECORD_HEAD) {
			d->broken = true;
			break;
		}
		if (size > d->marked - (d->offset + at) || wanted > len - at)
			break;
		take_record(d, r, wanted, d->offset + at);
		at += size;
	}
	return at;
}

static uint64_t take_header(struct jitdump *d, size_t len)
{
	uint32_t size = len >= HEADER ? get32(d->buffer + 8) : 0;

	if (len < HEADER)
		return 0;
	d->broken = get32(d->buffer) != magic || size < HEADER || size > HEADER_MAX;
	return d->broken ? 0 : size;
}

/* Up to the mark. A record that is not whole waits. */
static void take_new(struct jitdump *d)
{
	uint64_t until = d->total + READ_MAX;

	while (!d->broken && d->offset < d->marked && d->total < until) {
		size_t want = d->marked - d->offset < BUFFER ? (size_t)(d->marked - d->offset) : BUFFER;
		ssize_t got = pread(d->fd, d->buffer, want, (off_t)d->offset);
		uint64_t used;

		if (got <= 0)
			return;
		d->total += (uint64_t)got;
		used = d->offset ? take_records(d, (size_t)got) : take_header(d, (size_t)got);
		if (!used)
			return;
		d->offset += used;
	}
}

static void begin_anew(struct jitdump *d)
{
	intervals_free(&d->code);
	d->count = d->offset = d->debug_at = 0;
	d->generation++;
}

bool jitdump_read(struct jitdump *d)
{
	if (d->total >= BYTES_MAX) { /* to go on with half of it would give wrong names */
		begin_anew(d);
		return false;
	}
	if (d->fd < 0 && clock_now() - d->opened_ns >= OPEN_NS) {
		d->opened_ns = clock_now();
		d->fd = open_dump(d->target);
		jitdump_mark(d);
	}
	if (d->fd < 0)
		return false;
	if (d->marked < d->offset)
		begin_anew(d);
	take_new(d);
	return d->count > 0;
}

/* ---- What it says ---- */

bool jitdump_find(const struct jitdump *d, raddr_t at, struct perfmap_code *ret)
{
	const struct load *load;
	struct interval found;
	uint64_t number;

	if (!intervals_find(&d->code, at, &found))
		return false;
	number = found.value >> NUMBER_SHIFT;
	load = load_of(d, number);
	if (!load)
		return false;
	/* Of code without lines all addresses are alike. */
	*ret = (struct perfmap_code){
		.start = found.start,
		.end = found.end,
		.line = JITDUMP_LINE | number << OFFSET_BITS | (load->debug ? at - found.start : 0),
		.glue = found.value & GLUE,
		.stamp = (uint32_t)(hash_step(hash_step(d->generation, found.start), found.value) >> 32),
	};
	return true;
}

/* A line of some code. */
struct place {
	uint32_t line;
	const char *file;
	size_t file_len;
};

/* The line that begins last before the address, of a record of lines. */
static bool find_line(const uint8_t *r, size_t len, raddr_t at, struct place *ret)
{
	uint64_t count = get64(r + RECORD_HEAD + 8), best = 0;
	struct place p = { 0 };
	bool found = false;

	r += DEBUG_HEAD;
	len -= DEBUG_HEAD;
	for (uint64_t i = 0; i < count && len > ENTRY_HEAD; i++) {
		const char *name = (const char *)r + ENTRY_HEAD;
		size_t name_len = strnlen(name, len - ENTRY_HEAD);

		if (name_len == len - ENTRY_HEAD)
			break;
		if (name_len != 1 || *name != '\xff') { /* else as the one before */
			p.file = name;
			p.file_len = name_len;
		}
		p.line = get32(r + 8);
		if (get64(r) <= at && (!found || get64(r) >= best)) {
			best = get64(r);
			*ret = p;
			found = true;
		}
		r += ENTRY_HEAD + name_len + 1;
		len -= ENTRY_HEAD + name_len + 1;
	}
	return found && ret->file;
}

static bool is_file(const struct place *p, struct jit_text file)
{
	static const char scheme[] = "file://";
	size_t skip = p->file_len > strlen(scheme) && !memcmp(p->file, scheme, strlen(scheme)) ? strlen(scheme) : 0;

	return p->file_len - skip == file.len && !memcmp(p->file + skip, file.at, file.len);
}

static void add_line(struct jitdump *d, const struct load *load, uint64_t off, const struct jit_name *n,
		     struct strings *strings, struct frame_info *ret)
{
	CLEANUP(cleanup_free) uint8_t *bytes = xcalloc(1, DEBUG_MAX);
	ssize_t got = pread(d->fd, bytes, DEBUG_MAX, (off_t)load->debug);
	uint64_t at = load->start + off + (n->kind == FRAME_JS ? V8_LINES_BEHIND : 0);
	size_t len = got > DEBUG_HEAD ? (size_t)got : 0;
	struct place p;

	if (!len || get32(bytes) != CODE_DEBUG_INFO)
		return;
	if (get32(bytes + 4) < len)
		len = get32(bytes + 4);
	if (len < DEBUG_HEAD || !find_line(bytes, len, at, &p))
		return;
	if (!n->file.len) {
		ret->file = strings_add(strings, p.file, p.file_len);
		ret->line = p.line;
	} else if (is_file(&p, n->file) && p.line >= n->line) { /* else something that was inlined */
		ret->line = p.line;
		ret->column = 0;
	}
}

static str_id add(struct strings *strings, struct jit_text t)
{
	return strings_add(strings, t.at, t.len);
}

struct err jitdump_name(struct jitdump *d, raddr_t start, uint64_t line, struct strings *strings,
			struct frame_info *ret)
{
	uint64_t off = line & (CODE_BYTES_MAX - 1);
	const struct load *load = load_of(d, (line & ~JITDUMP_LINE) >> OFFSET_BITS);
	uint8_t r[TAKEN_MAX];
	ssize_t got = load ? pread(d->fd, r, sizeof(r), (off_t)load->record) : -1;
	const char *name = (const char *)r + LOAD_NAME;
	struct jit_name n;

	if (got <= LOAD_NAME || get32(r) != CODE_LOAD || get64(r + 32) != load->start)
		return err_at(ERR_CORRUPT, start, "naming code by its dump");
	jit_name_split(name, strnlen(name, (size_t)got - LOAD_NAME), &n);
	*ret = (struct frame_info){
		.function = add(strings, n.function),
		.name = add(strings, n.function),
		.file = add(strings, n.file),
		.line = n.line,
		.column = n.column,
		.first_line = n.line,
		.kind = (uint8_t)n.kind,
		.library = n.library,
	};
	if (load->debug)
		add_line(d, load, off, &n, strings, ret);
	return OK;
}
