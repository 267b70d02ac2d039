/* stack.c - local copies of what is expected to be needed of a thread's stack.
 */
#include <stdlib.h>
#include <string.h>

#include "stack.h"

void rby_stack_free(struct rby_stack *s)
{
	free(s->frames);
	free(s->values);
	*s = (struct rby_stack){ 0 };
}

const uint8_t *rby_stack_frame(const struct rby_stack *s, const struct rby_layout *l, raddr_t at)
{
	size_t len = (size_t)l->frame_size;

	if (!s->frames_valid || at < s->frames_at || at - s->frames_at > s->frames_len ||
	    s->frames_len - (at - s->frames_at) < len)
		return NULL;
	return s->frames + (at - s->frames_at);
}

bool rby_stack_env(struct rby_stack *s, struct memory *m, raddr_t ep, uint64_t words[ENV_WORDS])
{
	const size_t len = ENV_WORDS * sizeof(*words);
	raddr_t at = ep - len + sizeof(*words);

	if (ep % 8 || ep < len)
		return false;
	if (at >= s->start && at + len <= s->end) {
		size_t need = at + len - s->start;

		if (m && need > s->values_next)
			s->values_next = need;
		if (s->values_valid && need <= s->values_len) {
			memcpy(words, s->values + (at - s->start), len);
			return true;
		}
	}
	return m && !failed(memory_read(m, at, words, len));
}

bool rby_stack_env_again(const struct rby_stack *s, raddr_t ep, uint64_t words[ENV_WORDS])
{
	const size_t len = ENV_WORDS * sizeof(*words);
	raddr_t at = ep - len + sizeof(*words);

	if (!s->values_again_valid || ep % 8 || ep < len || at < s->values_again_at || s->values_again_len < len ||
	    at - s->values_again_at > s->values_again_len - len)
		return false;
	memcpy(words, s->values_again + (at - s->values_again_at), len);
	return true;
}
