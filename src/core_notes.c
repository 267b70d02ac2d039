/* core_notes.c - what the notes of a core file tell of the process. */
#include <string.h>
#include <sys/procfs.h>

#include "core_notes.h"

enum { THREADS_MAX = 1 << 16, FILES_MAX = 1 << 20, NOT_LOOKED_FOR = -2 };

static void read_status(struct core *c, const char *bytes, size_t len)
{
	struct elf_prstatus s;

	if (len < sizeof(s) || c->tid_count == THREADS_MAX)
		return;
	memcpy(&s, bytes, sizeof(s));
	if (!c->tid_count)
		c->signal = s.pr_cursig;
	xgrow(&c->tids, &c->tid_cap, c->tid_count + 1, sizeof(*c->tids));
	c->tids[c->tid_count++] = s.pr_pid;
}

static void read_process(struct core *c, const char *bytes, size_t len)
{
	struct elf_prpsinfo p;

	if (len < sizeof(p))
		return;
	memcpy(&p, bytes, sizeof(p));
	c->pid = p.pr_pid;
	memcpy(c->command, p.pr_psargs, sizeof(p.pr_psargs));
	memcpy(c->name, p.pr_fname, sizeof(p.pr_fname));
}

/* A count, the unit of offsets, so many triples, and then as many paths. */
static void read_files(struct core *c, const char *bytes, size_t len)
{
	uint64_t head[2], row[3];
	const char *path, *end = bytes + len;

	if (len < sizeof(head))
		return;
	memcpy(head, bytes, sizeof(head));
	if (head[0] > FILES_MAX || head[0] * sizeof(row) > len - sizeof(head))
		return;
	path = bytes + sizeof(head) + head[0] * sizeof(row);
	for (size_t i = 0; i < head[0]; i++) {
		size_t name_len = strnlen(path, (size_t)(end - path));
		struct core_file f = { .fd = NOT_LOOKED_FOR };

		memcpy(row, bytes + sizeof(head) + i * sizeof(row), sizeof(row));
		if (path + name_len >= end || row[0] >= row[1] || (i && row[0] < c->files[c->file_count - 1].end))
			return;
		f.start = row[0];
		f.end = row[1];
		f.offset = row[2] * head[1];
		f.path = xstrdup(path);
		xgrow(&c->files, &c->file_cap, c->file_count + 1, sizeof(f));
		c->files[c->file_count++] = f;
		path += name_len + 1;
	}
}

void core_read_notes(struct core *c, Elf_Data *notes)
{
	size_t at = 0, name, desc;
	GElf_Nhdr nh;

	while (notes && (at = gelf_getnote(notes, at, &nh, &name, &desc)) > 0) {
		const char *bytes = (const char *)notes->d_buf + desc;

		if (nh.n_type == NT_PRSTATUS)
			read_status(c, bytes, nh.n_descsz);
		else if (nh.n_type == NT_PRPSINFO)
			read_process(c, bytes, nh.n_descsz);
		else if (nh.n_type == NT_FILE && !c->file_count)
			read_files(c, bytes, nh.n_descsz);
	}
}
