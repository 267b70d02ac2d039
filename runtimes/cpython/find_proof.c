/* find_proof.c - follow a supposed list of interpreters until something in it can be nothing else. */
#include <string.h>
#include <time.h>

#include "find_steps.h"

enum {
	MAX_INTERPRETERS = 1024,
	MAX_THREADS = 4096, /* of one interpreter; more are left alone */
	MAX_FRAMES = 64,    /* of one thread, from the leaf */
	MAX_READS = 100000, /* of one proof, whatever the lists look like: a tenth of a second */
	ATTEMPTS = 40,
	PAUSE_NS = 1000 * 1000,
	MAX_TYPE_NAME = 16,
};

static bool is_of_type(struct memory *m, const struct cpy_layout *l, raddr_t object, const char *name)
{
	raddr_t type, text;
	char buf[MAX_TYPE_NAME];

	return object && !failed(memory_ptr(m, object + l->object_type, &type)) &&
	       !failed(memory_ptr(m, type + l->type_name, &text)) && !failed(memory_str(m, text, buf, sizeof(buf))) &&
	       strcmp(buf, name) == 0;
}

static bool is_code(struct memory *m, const struct cpy_layout *l, raddr_t code)
{
	raddr_t name, file;

	return is_of_type(m, l, code, "code") && !failed(memory_ptr(m, code + l->code_name, &name)) &&
	       !failed(memory_ptr(m, code + l->code_filename, &file)) && is_of_type(m, l, name, "str") &&
	       is_of_type(m, l, file, "str");
}

static bool first_frame(struct memory *m, const struct cpy_layout *l, raddr_t thread, raddr_t *ret)
{
	if (failed(memory_ptr(m, thread + l->thread_frame, ret)))
		return false;
	if (l->frames == FRAMES_CFRAME && *ret)
		return !failed(memory_ptr(m, *ret + l->cframe_frame, ret));
	return true;
}

static bool has_frame(struct memory *m, const struct cpy_layout *l, raddr_t thread)
{
	raddr_t frame, code;

	if (!first_frame(m, l, thread, &frame))
		return false;
	for (size_t i = 0; frame && i < MAX_FRAMES; i++) {
		if (failed(memory_ptr(m, frame + l->frame_code, &code)))
			return false;
		if (is_code(m, l, code & ~l->code_tag_mask))
			return true;
		if (failed(memory_ptr(m, frame + l->frame_back, &frame)))
			return false;
	}
	return false;
}

/* PROOF_NONE as soon as a thread belongs to another interpreter. */
static enum cpy_proof prove_threads(struct memory *m, const struct cpy_layout *l, raddr_t interp)
{
	enum cpy_proof best = PROOF_NO_THREAD;
	uint64_t limit = m->calls + MAX_READS;
	raddr_t thread, owner;

	if (failed(memory_ptr(m, interp + l->interp_threads_head, &thread)))
		return PROOF_NONE;
	for (size_t i = 0; thread && i < MAX_THREADS && m->calls < limit; i++) {
		if (failed(memory_ptr(m, thread + l->thread_interp, &owner)) || owner != interp)
			return PROOF_NONE;
		if (has_frame(m, l, thread))
			return PROOF_FRAME;
		best = PROOF_LINKED;
		if (failed(memory_ptr(m, thread + l->thread_next, &thread)))
			return PROOF_NONE;
	}
	return best;
}

static bool has_modules(struct memory *m, const struct cpy_layout *l, raddr_t interp)
{
	raddr_t modules;

	return !failed(memory_ptr(m, interp + l->interp_modules, &modules)) && is_of_type(m, l, modules, "dict");
}

enum cpy_proof cpy_prove(struct memory *m, const struct cpy_layout *l, raddr_t head, size_t *chain)
{
	enum cpy_proof best = PROOF_EMPTY;
	uint64_t limit = m->calls + MAX_READS;
	size_t n = 0;
	raddr_t interp;

	if (failed(memory_ptr(m, head, &interp)))
		return PROOF_NONE;
	for (; interp && n < MAX_INTERPRETERS && m->calls < limit; n++) {
		enum cpy_proof proof = prove_threads(m, l, interp);

		if (proof == PROOF_LINKED && has_modules(m, l, interp))
			proof = PROOF_MODULES;
		/* An interpreter being made or destroyed must not hide the others. */
		if (proof == PROOF_NONE && best < PROOF_LINKED)
			return PROOF_NONE;
		if (proof > best)
			best = proof;
		if (failed(memory_ptr(m, interp + l->interp_next, &interp)))
			break;
	}
	if (chain)
		*chain = n;
	return best;
}

enum cpy_proof cpy_prove_patiently(struct memory *m, const struct cpy_layout *l, raddr_t head)
{
	const struct timespec pause = { 0, PAUSE_NS };
	enum cpy_proof best = PROOF_NONE;
	uint64_t limit = m->calls + MAX_READS;

	for (int i = 0; i < ATTEMPTS && m->calls < limit; i++) {
		enum cpy_proof proof = cpy_prove(m, l, head, NULL);

		best = proof > best ? proof : best;
		/* What never led anywhere is no list; what is empty or complete needs no second look. */
		if (best == PROOF_FRAME || best == PROOF_EMPTY || (i > 2 && best == PROOF_NONE))
			break;
		nanosleep(&pause, NULL);
	}
	return best;
}

bool cpy_is_interpreter(struct memory *m, const struct cpy_layout *l, raddr_t interp)
{
	raddr_t thread, owner;

	return !failed(memory_ptr(m, interp + l->interp_threads_head, &thread)) && thread &&
	       !failed(memory_ptr(m, thread + l->thread_interp, &owner)) && owner == interp &&
	       has_modules(m, l, interp);
}

bool cpy_is_thread(struct memory *m, const struct cpy_layout *l, raddr_t head, raddr_t thread)
{
	raddr_t interp, owner, known;

	if (failed(memory_ptr(m, thread + l->thread_interp, &owner)) || failed(memory_ptr(m, head, &interp)))
		return false;
	for (size_t n = 0; interp && interp != owner && n < MAX_INTERPRETERS; n++)
		if (failed(memory_ptr(m, interp + l->interp_next, &interp)))
			return false;
	if (interp != owner || !interp || failed(memory_ptr(m, interp + l->interp_threads_head, &known)))
		return false;
	for (size_t n = 0; known && known != thread && n < MAX_THREADS; n++)
		if (failed(memory_ptr(m, known + l->thread_next, &known)))
			return false;
	return known == thread;
}
