/* threads.c - the interpreters and thread states of a process, and their OS threads. */
#include <stdlib.h>
#include <string.h>

#include "cpython.h"

enum { PTHREAD_BYTES = 2048 }; /* of a struct pthread, in which its OS id is looked for */

void cpy_threads_free(struct cpy *c)
{
	for (size_t i = 0; i < c->thread_count; i++)
		copies_free(&c->threads[i].copies);
	free(c->threads);
	free(c->spare);
	c->threads = c->spare = NULL;
	c->spare_cap = 0;
	c->thread_count = c->thread_cap = 0;
}

struct cpy_thread *cpy_thread_at(struct cpy *c, raddr_t state)
{
	for (size_t i = 0; state && i < c->thread_count; i++)
		if (c->threads[i].at == state)
			return &c->threads[i];
	return NULL;
}

bool cpy_threads_current(const struct cpy *c)
{
	size_t i = 0;

	if (c->interp_head_now != c->interp_head)
		return false;
	for (size_t k = 0; k < c->interp_count; k++) {
		raddr_t expected = c->interps[k].head_now;

		for (; i < c->thread_count && c->threads[i].interp == k; i++) {
			const struct cpy_thread *th = &c->threads[i];

			if (th->at != expected || !(th->valid || th->left_out))
				return false;
			expected = th->left_out ? th->next : cpy_state_word(c, th, c->l->thread_next);
		}
		if (expected)
			return false;
	}
	return true;
}

/*
 * Up to 3.10 a thread state knows its pthread_t only: the address of the C library's struct, which holds the OS id
 * somewhere. Where, is learnt from the main thread, whose id is the process's. Later ones note the OS id, which is
 * their parent's after a fork that Python was not told of, as uWSGI's.
 */
static pid_t tid_of_pthread(struct cpy *c, struct target *t, uint64_t ident)
{
	uint32_t words[PTHREAD_BYTES / 4];
	size_t have = sizeof(words);
	pid_t found = 0;

	if (cpy_has(c->pthread_tid_at)) {
		uint32_t tid;

		if (failed(memory_u32(t->memory, ident + (raddr_t)c->pthread_tid_at, &tid)))
			return 0;
		return target_thread(t, (pid_t)tid) ? (pid_t)tid : 0;
	}
	while (have >= 512 && failed(memory_read(t->memory, ident, words, have)))
		have /= 2;
	for (size_t i = 0; have >= 512 && i < have / 4; i++) {
		if (words[i] != (uint32_t)t->ns_pid || !target_thread(t, (pid_t)words[i]))
			continue;
		c->pthread_tid_at = (int32_t)(i * 4);
		found = (pid_t)words[i];
		break;
	}
	return found;
}

static struct err read_thread(struct cpy *c, struct target *t, raddr_t at, struct cpy_thread *th)
{
	const struct cpy_layout *l = c->l;
	uint64_t native = 0;
	raddr_t interp = 0;
	struct memory_range ranges[] = {
		{ at + (raddr_t)l->thread_next, &th->next, 8 },
		{ at + (raddr_t)l->thread_interp, &interp, 8 },
		{ at + (raddr_t)l->thread_id, &th->ident, 8 },
		{ cpy_has(l->thread_native_id) ? at + (raddr_t)l->thread_native_id : at, &native, 8 },
	};
	struct err e = memory_readv(t->memory, ranges, countof(ranges), NULL);

	if (failed(e))
		return e;
	if (interp != c->interps[th->interp].at)
		return err_at(ERR_CORRUPT, at, "walking the thread states");
	th->at = at;
	if (cpy_has(l->thread_native_id))
		th->ns_tid = (pid_t)native;
	return OK;
}

/* What is known of a thread stays, its copies above all. */
static void keep_known(struct cpy_thread *old, size_t n, struct cpy_thread *th)
{
	for (size_t i = 0; i < n; i++) {
		if (old[i].at != th->at || old[i].ident != th->ident)
			continue;
		th->copies = old[i].copies;
		old[i].copies = (struct copies){ 0 };
		if (!th->ns_tid)
			th->ns_tid = old[i].ns_tid;
		return;
	}
}

static struct err discover_threads(struct cpy *c, struct target *t, uint32_t interp)
{
	raddr_t at = c->interps[interp].threads_head;

	while (at) {
		struct cpy_thread th = { .interp = interp };
		struct err e = read_thread(c, t, at, &th);

		if (failed(e))
			return e;
		if (c->thread_count == CPY_THREADS_MAX || cpy_thread_at(c, at))
			return err_at(ERR_CORRUPT, at, "walking the thread states");
		xgrow(&c->threads, &c->thread_cap, c->thread_count + 1, sizeof(*c->threads));
		c->threads[c->thread_count++] = th;
		at = th.next;
	}
	return OK;
}

static struct err discover_interps(struct cpy *c, struct target *t)
{
	const struct cpy_layout *l = c->l;
	raddr_t at;
	struct err e = memory_ptr(t->memory, c->roots.interp_head, &at);

	c->interp_count = 0;
	c->interp_head = c->interp_head_now = at;
	while (!failed(e) && at) {
		struct cpy_interp *in = &c->interps[c->interp_count];
		raddr_t next;

		if (c->interp_count == INTERPS_MAX)
			return err_at(ERR_CORRUPT, at, "walking the interpreters");
		memset(in, 0, sizeof(*in));
		in->at = at;
		e = memory_ptr(t->memory, at + (raddr_t)l->interp_threads_head, &in->threads_head);
		in->head_now = in->threads_head;
		if (!failed(e) && l->gil == GIL_INTERPRETER && !l->free_threaded && cpy_has(l->interp_gil))
			e = memory_ptr(t->memory, at + (raddr_t)l->interp_gil, &in->gil);
		if (!failed(e))
			e = memory_ptr(t->memory, at + (raddr_t)l->interp_next, &next);
		if (failed(e))
			return e;
		c->interp_count++;
		at = next;
	}
	return e;
}

static bool is_known(struct target *t, const struct cpy_thread *th)
{
	return th->ns_tid && target_thread(t, th->ns_tid);
}

static void find_os_threads(struct cpy *c, struct target *t)
{
	bool refreshed = false;

	/* Main thread last in the list: it teaches where the ids are. */
	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = c->thread_count; i-- > 0;) {
			struct cpy_thread *th = &c->threads[i];

			pid_t tid;

			if (is_known(t, th))
				continue;
			if (!refreshed && failed(target_refresh_threads(t)))
				return;
			refreshed = true;
			tid = is_known(t, th) ? 0 : tid_of_pthread(c, t, th->ident);
			if (tid)
				th->ns_tid = tid;
		}
	}
}

struct err cpy_threads_discover(struct cpy *c, struct target *t)
{
	struct cpy_thread *old = c->threads;
	size_t old_count = c->thread_count, old_cap = c->thread_cap;
	struct err e;

	c->threads = c->spare;
	c->thread_cap = c->spare_cap;
	c->thread_count = 0;
	e = discover_interps(c, t);
	for (uint32_t i = 0; !failed(e) && i < c->interp_count; i++)
		e = discover_threads(c, t, i);
	for (size_t i = 0; i < c->thread_count; i++)
		keep_known(old, old_count, &c->threads[i]);
	for (size_t i = 0; i < old_count; i++)
		copies_free(&old[i].copies);
	c->spare = old;
	c->spare_cap = old_cap;
	if (failed(e))
		c->interp_head = 0; /* what is known is not all: the next comparison must tell */
	else
		find_os_threads(c, t);
	return e;
}
