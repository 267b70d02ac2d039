/* threads.c - the ractors and threads of a process, and their OS threads. */
#include <stdlib.h>
#include <string.h>

#include "ruby.h"

enum { PTHREAD_BYTES = 2048 }; /* of a struct pthread, in which its OS id is looked for */

void rby_threads_free(struct rby *r)
{
	for (size_t i = 0; i < r->thread_count; i++)
		rby_stack_free(&r->threads[i].stack);
	free(r->threads);
	free(r->ractors);
	r->threads = NULL;
	r->ractors = NULL;
	r->thread_count = r->thread_cap = r->ractor_count = r->ractor_cap = 0;
}

struct rby_thread *rby_thread_at(struct rby *r, raddr_t at)
{
	for (size_t i = 0; at && i < r->thread_count; i++)
		if (r->threads[i].at == at)
			return &r->threads[i];
	return NULL;
}

/* Lists are circular; a thread's first word is its link. */
bool rby_threads_current(const struct rby *r)
{
	size_t i = 0;

	if (r->first_ractor_now != r->first_ractor)
		return false;
	for (size_t k = 0; k < r->ractor_count; k++) {
		raddr_t expected = r->ractors[k].first_now;

		if (r->ractors[k].next_now != r->ractors[k].next)
			return false;
		for (; i < r->thread_count && r->threads[i].ractor == k; i++) {
			if (r->threads[i].at != expected || !(r->threads[i].valid || r->threads[i].left_out))
				return false;
			expected = rby_word(r->threads[i].state);
		}
		if (expected != r->ractors[k].list)
			return false;
	}
	return true;
}

/*
 * To 3.0 a thread knows its pthread_t only: the address of the C library's
 * struct, which holds the OS id somewhere. Where, is learnt from the main
 * thread, whose id is the process's.
 */
static pid_t tid_of_pthread(struct rby *r, struct target *t, uint64_t pthread)
{
	uint32_t words[PTHREAD_BYTES / 4], tid;
	size_t have = sizeof(words);

	if (rby_has(r->pthread_tid_at)) {
		if (failed(memory_u32(t->memory, pthread + (raddr_t)r->pthread_tid_at, &tid)))
			return 0;
		return target_thread(t, (pid_t)tid) ? (pid_t)tid : 0;
	}
	while (have >= 512 && failed(memory_read(t->memory, pthread, words, have)))
		have /= 2;
	for (size_t i = 0; have >= 512 && i < have / 4; i++) {
		if (words[i] != (uint32_t)t->ns_pid || !target_thread(t, (pid_t)words[i]))
			continue;
		r->pthread_tid_at = (int32_t)(i * 4);
		return (pid_t)words[i];
	}
	return 0;
}

void rby_thread_native(struct rby *r, struct target *t, struct rby_thread *th)
{
	raddr_t native = rby_state_word(th, r->l->thread_native);
	uint32_t tid = 0;

	if (r->l->tid != TID_NATIVE || native == th->native)
		return;
	th->native = native;
	if (native && failed(memory_u32(t->memory, native + (raddr_t)r->l->native_tid, &tid)))
		tid = 0;
	th->ns_tid = (pid_t)tid;
	if (tid && !target_thread(t, (pid_t)tid) && failed(target_refresh_threads(t)))
		return;
}

static struct err read_thread(struct rby *r, struct target *t, raddr_t at, struct rby_thread *th)
{
	const struct rby_layout *l = r->l;
	struct err e = memory_read(t->memory, at, th->state, r->state_len);
	uint32_t tid;

	if (failed(e))
		return e;
	if (rby_state_word(th, l->thread_vm) != r->roots.vm)
		return err_at(ERR_CORRUPT, at, "walking the threads");
	th->at = at;
	th->pthread = rby_state_word(th, l->thread_pthread);
	th->native = NO_FIELD; /* none that is known */
	th->stack.context = rby_state_word(th, l->thread_ec);
	if (l->tid == TID_THREAD) {
		memcpy(&tid, th->state + l->thread_tid, sizeof(tid));
		th->ns_tid = (pid_t)tid;
	}
	return OK;
}

/* What is known of a thread stays, its copies above all. */
static void keep_known(struct rby_thread *old, size_t n, struct rby_thread *th)
{
	for (size_t i = 0; i < n; i++) {
		if (old[i].at != th->at)
			continue;
		th->stack = old[i].stack;
		old[i].stack = (struct rby_stack){ 0 };
		if (old[i].pthread == th->pthread && !th->ns_tid) {
			th->ns_tid = old[i].ns_tid;
			th->native = old[i].native;
		}
		return;
	}
}

static struct err discover_threads(struct rby *r, struct target *t, uint32_t ractor)
{
	raddr_t at = r->ractors[ractor].first, list = r->ractors[ractor].list;

	while (at != list) {
		struct rby_thread *th;
		struct err e;

		if (r->thread_count == RBY_THREADS_MAX || rby_thread_at(r, at))
			return err_at(ERR_CORRUPT, at, "walking the threads");
		xgrow(&r->threads, &r->thread_cap, r->thread_count + 1, sizeof(*r->threads));
		th = &r->threads[r->thread_count];
		*th = (struct rby_thread){ .ractor = ractor };
		e = read_thread(r, t, at, th);
		if (failed(e))
			return e;
		r->thread_count++;
		at = rby_word(th->state);
	}
	return OK;
}

static struct err add_ractor(struct rby *r, struct target *t, raddr_t at, raddr_t list, raddr_t lock_at,
			     struct rby_ractor **ret)
{
	struct rby_ractor *ractor;
	struct err e;

	if (r->ractor_count == RACTORS_MAX)
		return err_at(ERR_CORRUPT, at, "walking the ractors");
	xgrow(&r->ractors, &r->ractor_cap, r->ractor_count + 1, sizeof(*r->ractors));
	ractor = &r->ractors[r->ractor_count++];
	*ractor = (struct rby_ractor){ .at = at, .list = list, .lock_at = lock_at };
	e = memory_ptr(t->memory, list, &ractor->first);
	ractor->first_now = ractor->first;
	*ret = ractor;
	return e;
}

static struct err discover_ractors(struct rby *r, struct target *t)
{
	const struct rby_layout *l = r->l;
	raddr_t vm = r->roots.vm, head, node;
	struct rby_ractor *ractor;
	struct err e;

	if (l->thread_list == LIST_VM)
		return add_ractor(r, t, vm, vm + (raddr_t)l->vm_threads,
				  rby_has(l->vm_lock_owner) ? vm + (raddr_t)l->vm_lock_owner : 0, &ractor);
	head = vm + (raddr_t)l->vm_ractors;
	e = memory_ptr(t->memory, head, &node);
	r->first_ractor = r->first_ractor_now = node;
	while (!failed(e) && node != head) {
		raddr_t at = node - (raddr_t)l->ractor_node;

		e = add_ractor(r, t, at, at + (raddr_t)l->ractor_threads, at + (raddr_t)l->ractor_lock_owner, &ractor);
		if (!failed(e))
			e = memory_ptr(t->memory, node, &node);
		ractor = &r->ractors[r->ractor_count - 1];
		ractor->next = ractor->next_now = node;
	}
	return e;
}

/* A forked process's main thread may still bear the id that it had in its
 * parent: it is the process's own. */
static void correct_main_thread(struct rby *r, struct target *t)
{
	raddr_t at;
	struct rby_thread *main = NULL;

	if (!failed(memory_ptr(t->memory, r->roots.vm + (raddr_t)r->l->vm_main_thread, &at)))
		main = rby_thread_at(r, at);
	if (main && (!main->ns_tid || !target_thread(t, main->ns_tid)))
		main->ns_tid = t->ns_pid;
}

static void find_os_threads(struct rby *r, struct target *t)
{
	bool refreshed = false;

	/* The main thread teaches where the ids are; it comes first. */
	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < r->thread_count; i++) {
			struct rby_thread *th = &r->threads[i];

			rby_thread_native(r, t, th);
			if (r->l->tid == TID_PTHREAD && !th->ns_tid)
				th->ns_tid = tid_of_pthread(r, t, th->pthread);
			/* An M:N thread that is parked has none. */
			if (refreshed || (th->ns_tid ? target_thread(t, th->ns_tid) != NULL : th->native == 0))
				continue;
			refreshed = true;
			if (failed(target_refresh_threads(t)))
				return;
		}
	}
	correct_main_thread(r, t);
}

static void keep_holders(const struct rby_ractor *old, size_t n, struct rby_ractor *ractor)
{
	for (size_t i = 0; i < n; i++)
		if (old[i].at == ractor->at)
			memcpy(ractor->holders, old[i].holders, sizeof(ractor->holders));
}

struct err rby_threads_discover(struct rby *r, struct target *t)
{
	struct rby_thread *old = r->threads;
	struct rby_ractor *old_ractors = r->ractors;
	size_t old_count = r->thread_count, old_ractor_count = r->ractor_count;
	struct err e;

	r->threads = NULL;
	r->ractors = NULL;
	r->thread_count = r->thread_cap = r->ractor_count = r->ractor_cap = 0;
	e = discover_ractors(r, t);
	for (uint32_t i = 0; !failed(e) && i < r->ractor_count; i++)
		e = discover_threads(r, t, i);
	for (size_t i = 0; i < r->thread_count; i++)
		keep_known(old, old_count, &r->threads[i]);
	for (size_t i = 0; i < r->ractor_count; i++)
		keep_holders(old_ractors, old_ractor_count, &r->ractors[i]);
	for (size_t i = 0; i < old_count; i++)
		rby_stack_free(&old[i].stack);
	free(old);
	free(old_ractors);
	if (!failed(e))
		find_os_threads(r, t);
	return e;
}
