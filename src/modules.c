/* modules.c - the executable mappings of a target and the ELF files behind them. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cspy/sampler.h"
#include "modules.h"

enum {
	VDSO_BYTES_MAX = 1 << 16,
	CODE_MAPS_MAX = 1 << 16,
};
static const uint64_t REFRESH_NS = 1000 * 1000 * 1000, MISS_NS = 20 * 1000 * 1000;
static const char vdso[] = "[vdso]";

struct modules {
	struct target *target;
	struct code_map *maps; /* ascending */
	size_t map_count;
	struct module *list; /* numbers stay as they are */
	size_t count, cap;
	uint64_t read_ns, generation;
};

struct modules *modules_new(struct target *t)
{
	struct modules *m = xcalloc(1, sizeof(*m));

	m->target = t;
	return m;
}

static void close_all(struct modules *m)
{
	for (size_t i = 0; i < m->count; i++) {
		image_close(m->list[i].image);
		free(m->list[i].path);
	}
	m->count = 0;
}

void modules_free(struct modules *m)
{
	if (!m)
		return;
	close_all(m);
	free(m->list);
	free(m->maps);
	free(m);
}

struct target *modules_target(struct modules *m)
{
	return m->target;
}

uint64_t modules_generation(const struct modules *m)
{
	return m->generation;
}

static bool is_vdso(const struct mapping *at)
{
	return !at->inode && !strcmp(at->path, vdso);
}

static uint32_t module_of(struct modules *m, const struct mapping *at)
{
	if (!is_vdso(at) && (!at->inode || at->path[0] != '/'))
		return MODULE_NONE;
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].inode == at->inode && m->list[i].dev == at->dev && !strcmp(m->list[i].path, at->path))
			return (uint32_t)i;
	if (m->count == MODULES_MAX)
		return MODULE_NONE;
	xgrow(&m->list, &m->cap, m->count + 1, sizeof(*m->list));
	m->list[m->count] = (struct module){ .dev = at->dev, .inode = at->inode, .path = xstrdup(at->path) };
	return (uint32_t)m->count++;
}

static struct code_map code_map_of(struct modules *m, const struct mapping *at)
{
	return (struct code_map){ at->start, at->end, at->offset, module_of(m, at) };
}

static bool same_maps(const struct code_map *a, const struct code_map *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].start != b[i].start || a[i].end != b[i].end || a[i].offset != b[i].offset ||
		    a[i].module != b[i].module)
			return false;
	return true;
}

static void read_maps(struct modules *m)
{
	struct code_map *fresh = NULL;
	size_t n = 0, cap = 0;

	m->read_ns = clock_now();
	if (failed(target_refresh_maps(m->target)))
		return;
	for (size_t i = 0; i < m->target->maps.count && n < CODE_MAPS_MAX; i++) {
		const struct mapping *at = &m->target->maps.list[i];

		if (!(at->prot & PROT_EXEC))
			continue;
		xgrow(&fresh, &cap, n + 1, sizeof(*fresh));
		fresh[n++] = code_map_of(m, at);
	}
	m->generation += n != m->map_count || !same_maps(fresh, m->maps, n);
	free(m->maps);
	m->maps = fresh;
	m->map_count = n;
}

static void refresh_after(struct modules *m, uint64_t ns)
{
	if (clock_now() - m->read_ns >= ns)
		read_maps(m);
}

void modules_refresh(struct modules *m)
{
	refresh_after(m, REFRESH_NS);
}

static const struct code_map *find(const struct modules *m, raddr_t at)
{
	size_t low = 0, high = m->map_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (at < m->maps[mid].start)
			high = mid;
		else if (at >= m->maps[mid].end)
			low = mid + 1;
		else
			return &m->maps[mid];
	}
	return NULL;
}

const struct code_map *modules_map(struct modules *m, raddr_t at)
{
	const struct code_map *found = find(m, at);

	if (found)
		return found;
	refresh_after(m, MISS_NS);
	return find(m, at);
}

/* The kernel's own library has no file: its bytes are the target's. */
static int copy_vdso(struct modules *m, const struct code_map *map)
{
	CLEANUP(cleanup_free) void *bytes = NULL;
	size_t len = map->end - map->start;
	int fd;

	if (len > VDSO_BYTES_MAX)
		return -1;
	bytes = xcalloc(1, len);
	if (failed(memory_read(m->target->memory, map->start, bytes, len)))
		return -1;
	fd = memfd_create(vdso, MFD_CLOEXEC);
	if (fd >= 0 && write(fd, bytes, len) != (ssize_t)len) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_file(struct modules *m, const struct code_map *map, const struct module *module)
{
	const struct mapping *at;
	int fd = -1;

	if (!strcmp(module->path, vdso))
		return copy_vdso(m, map);
	at = maps_find(&m->target->maps, map->start);
	if (!at || failed(target_open_mapping(m->target, at, &fd)))
		return -1;
	return fd;
}

struct module *modules_open(struct modules *m, const struct code_map *map)
{
	struct module *module;
	int fd;

	if (map->module == MODULE_NONE)
		return NULL;
	module = &m->list[map->module];
	if (module->opened)
		return module;
	module->opened = true;
	fd = open_file(m, map, module);
	if (fd >= 0 && failed(image_open(fd, module->path, &module->image)))
		module->image = NULL;
	return module;
}

bool modules_svma(const struct module *module, const struct code_map *map, raddr_t at, uint64_t *ret)
{
	uint64_t offset = at - map->start + map->offset;
	const struct image_segment *list;
	size_t n = module->image ? image_segments(module->image, &list) : 0;

	for (size_t i = 0; i < n; i++) {
		if (!(list[i].flags & PF_X) || offset < list[i].offset || offset - list[i].offset >= list[i].file_size)
			continue;
		*ret = offset - list[i].offset + list[i].svma;
		return true;
	}
	return false;
}
