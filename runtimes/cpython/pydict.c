/* pydict.c - look up and list the entries of dicts, and the attributes of instances. */
#include <string.h>

#include "objects.h"

enum {
	BLOCK = 128,	       /* entries read at a time */
	ENTRIES_CAP = 1 << 22, /* of one dict */
	INDEX_LOG2_CAP = 40,   /* bytes of an index table, as a power of two */
	KEY_CAP = 256,	       /* bytes of a key that is looked for, with its end */
	PREFIX_CAP = 32,       /* bytes of a key that are compared early */
	HEAD_CAP = 96,	       /* bytes of a str object, from its length to there */
	BASIC_SIZE_CAP = 1 << 24,
	WORD = sizeof(raddr_t),
};

struct entry {
	uint64_t hash; /* 0 when the table has none */
	raddr_t key, value;
};

/* A row of entries, whatever version it comes from. */
struct table {
	raddr_t entries;
	uint64_t count;
	bool hashed;	/* {hash, key, value}, else {key, value} */
	raddr_t values; /* split and inline dicts keep the values here, else 0 */
};

/* Called for a block of entries that have a value; false stops. */
typedef bool block_fn(void *arg, const struct entry *entries, size_t n);

static struct err check_table(const struct table *t)
{
	return t->count <= ENTRIES_CAP ? OK : err_at(ERR_CORRUPT, t->entries, "size of dict");
}

static struct err keys36(struct memory *m, const struct cpy_layout *l, raddr_t keys, struct table *ret)
{
	uint64_t size;
	struct memory_range ranges[] = {
		{ keys + l->keys_size, &size, sizeof(size) },
		{ keys + l->keys_entries, &ret->count, sizeof(ret->count) },
	};
	struct err e = memory_readv(m, ranges, countof(ranges), NULL);

	if (failed(e))
		return e;
	if (size > 2ull * ENTRIES_CAP)
		return err_at(ERR_CORRUPT, keys, "size of dict");
	ret->hashed = true;
	ret->entries = keys + l->keys_indices + size * (size <= UINT8_MAX ? 1 : size <= UINT16_MAX ? 2 : 4);
	return check_table(ret);
}

static struct err keys311(struct memory *m, const struct cpy_layout *l, raddr_t keys, struct table *ret)
{
	uint8_t log2_index, kind;
	struct memory_range ranges[] = {
		{ keys + l->keys_log2_index, &log2_index, sizeof(log2_index) },
		{ keys + l->keys_kind, &kind, sizeof(kind) },
		{ keys + l->keys_entries, &ret->count, sizeof(ret->count) },
	};
	struct err e = memory_readv(m, ranges, countof(ranges), NULL);

	if (failed(e))
		return e;
	if (log2_index > INDEX_LOG2_CAP)
		return err_at(ERR_CORRUPT, keys, "size of dict");
	ret->hashed = kind == 0; /* DICT_KEYS_GENERAL */
	ret->entries = keys + l->keys_indices + (1ull << log2_index);
	return check_table(ret);
}

static struct err keys_table(struct memory *m, const struct cpy_layout *l, raddr_t keys, struct table *ret)
{
	return l->dict == DICT_KEYS311 ? keys311(m, l, keys, ret) : keys36(m, l, keys, ret);
}

static struct err dict_table(struct memory *m, const struct cpy_layout *l, raddr_t dict, struct table *ret)
{
	raddr_t type, keys = 0;
	uint64_t flags;
	struct err e = cpy_type_flags(m, l, dict, &type, &flags);

	*ret = (struct table){ .hashed = true };
	if (failed(e))
		return e;
	if (!(flags & CPY_TYPE_DICT))
		return err_at(ERR_CORRUPT, dict, "not a dict");
	if (l->dict == DICT_PY2) {
		struct memory_range ranges[] = {
			{ dict + l->dict_mask, &ret->count, sizeof(ret->count) },
			{ dict + l->dict_table, &ret->entries, WORD },
		};
		e = memory_readv(m, ranges, countof(ranges), NULL);
		ret->count++;
		return failed(e) ? e : check_table(ret);
	}
	struct memory_range ranges[] = {
		{ dict + l->dict_keys, &keys, WORD },
		{ dict + l->dict_values, &ret->values, WORD },
	};
	e = memory_readv(m, ranges, countof(ranges), NULL);
	if (failed(e))
		return e;
	if (ret->values && cpy_has(l->dictvalues_values))
		ret->values += l->dictvalues_values;
	return keys_table(m, l, keys, ret);
}

/* One block: entry by entry as the target has them, then those that have a value. */
static struct err read_block(struct memory *m, const struct table *t, uint64_t first, size_t n, struct entry *ret,
			     size_t *kept)
{
	uint64_t raw[BLOCK * 3];
	raddr_t values[BLOCK];
	size_t words = t->hashed ? 3 : 2;
	struct memory_range ranges[] = {
		{ t->entries + first * words * WORD, raw, n * words * WORD },
		{ t->values + first * WORD, values, n * WORD },
	};
	struct err e = memory_readv(m, ranges, t->values ? 2 : 1, NULL);

	*kept = 0;
	if (failed(e))
		return e;
	for (size_t i = 0; i < n; i++) {
		const uint64_t *w = raw + i * words;
		struct entry entry = { t->hashed ? w[0] : 0, w[words - 2], t->values ? values[i] : w[words - 1] };

		if (entry.key && entry.value)
			ret[(*kept)++] = entry;
	}
	return OK;
}

static struct err each_block(struct memory *m, const struct table *t, block_fn *fn, void *arg)
{
	struct entry block[BLOCK];

	for (uint64_t first = 0; first < t->count; first += BLOCK) {
		size_t n = t->count - first < BLOCK ? t->count - first : BLOCK, kept;
		struct err e = read_block(m, t, first, n, block, &kept);

		if (failed(e))
			return e;
		if (!fn(arg, block, kept))
			break;
	}
	return OK;
}

struct each {
	cpy_dict_fn *fn;
	void *arg;
	size_t left;
};

static bool each_entry(void *arg, const struct entry *entries, size_t n)
{
	struct each *each = arg;

	for (size_t i = 0; i < n; i++) {
		if (each->left == 0)
			return false;
		each->left--;
		if (!each->fn(each->arg, entries[i].key, entries[i].value))
			return false;
	}
	return true;
}

struct err cpy_dict_each(struct memory *m, const struct cpy_layout *l, raddr_t dict, size_t max, cpy_dict_fn *fn,
			 void *arg)
{
	struct each each = { fn, arg, max };
	struct table t;
	struct err e = dict_table(m, l, dict, &t);

	return failed(e) ? e : each_block(m, &t, each_entry, &each);
}

/*
 * Search for a str key. The beginnings of all keys of a block come in one read and tell most of them apart;
 * what is left is compared as text.
 */
struct search {
	struct memory *m;
	const struct cpy_layout *l;
	const char *key;
	uint64_t length, hash; /* hash: for ints */
	size_t prefix;	       /* bytes of the key that are compared early; 0 when it is not ASCII */
	raddr_t value;
};

static bool key_is(struct search *s, raddr_t key)
{
	char name[KEY_CAP];

	return !failed(cpy_string(s->m, s->l, key, name, sizeof(name))) && strcmp(name, s->key) == 0;
}

/* `head`: from the length field on, that is length, state, and the first characters. */
static bool key_may_be(const struct search *s, const uint8_t *head)
{
	const struct cpy_layout *l = s->l;
	uint64_t length;
	uint32_t state;

	memcpy(&length, head, sizeof(length));
	if (length != s->length)
		return false;
	if (s->prefix == 0)
		return true;
	memcpy(&state, head + l->unicode_state - l->unicode_length, sizeof(state));
	/* Of other strings the characters are elsewhere. */
	return !cpy_state_is_ascii(l, state) ||
	       memcmp(head + l->unicode_ascii - l->unicode_length, s->key, s->prefix) == 0;
}

static void aim(const struct entry *entries, size_t n, int32_t at, size_t len, uint8_t *heads, struct memory_range *ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = (struct memory_range){ entries[i].key + at, heads + i * HEAD_CAP, len };
}

static bool search_str(void *arg, const struct entry *entries, size_t n)
{
	struct search *s = arg;
	bool py2 = s->l->strings == STRINGS_PY2;
	int32_t at = py2 ? s->l->var_size : s->l->unicode_length;
	size_t len = s->prefix ? (size_t)(s->l->unicode_ascii - at) + s->prefix : sizeof(uint64_t), done;
	struct memory_range ranges[BLOCK];
	uint8_t heads[BLOCK * HEAD_CAP];

	aim(entries, n, at, len, heads, ranges);
	/* A key whose beginning can't be read is shorter, at the end of what is mapped, or damaged. */
	for (size_t from = 0; from < n; from += done + 1) {
		bool all = !failed(memory_readv(s->m, ranges + from, n - from, &done));
		size_t end = all ? n : from + done + 1;

		for (size_t i = from; i < end; i++) {
			bool known = all || i + 1 < end;

			if ((known && !key_may_be(s, heads + i * HEAD_CAP)) || !key_is(s, entries[i].key))
				continue;
			s->value = entries[i].value;
			return false;
		}
	}
	return true;
}

static bool search_int(void *arg, const struct entry *entries, size_t n)
{
	struct search *s = arg;
	int64_t key;

	for (size_t i = 0; i < n; i++) {
		if (entries[i].hash != s->hash || failed(cpy_int(s->m, s->l, entries[i].key, &key)) ||
		    (uint64_t)key != s->hash)
			continue;
		s->value = entries[i].value;
		return false;
	}
	return true;
}

static struct err search(const struct table *t, block_fn *fn, struct search *s, raddr_t *ret)
{
	struct err e = each_block(s->m, t, fn, s);

	if (failed(e))
		return e;
	*ret = s->value;
	return s->value ? OK : err_at(ERR_UNSUPPORTED, t->entries, "no such key");
}

static uint64_t characters(const char *utf8)
{
	uint64_t n = 0;

	for (; *utf8; utf8++)
		n += ((uint8_t)*utf8 & 0xC0) != 0x80;
	return n;
}

/* How much of an ASCII key is compared early. Offsets may come from the target, and the head is bounded. */
static size_t early_prefix(const struct cpy_layout *l, uint64_t length)
{
	int64_t state = (int64_t)l->unicode_state - l->unicode_length;
	int64_t text = (int64_t)l->unicode_ascii - l->unicode_length;
	size_t prefix = length < PREFIX_CAP ? length : PREFIX_CAP;

	if (l->strings == STRINGS_PY2 || state < (int64_t)sizeof(uint64_t) ||
	    text < state + (int64_t)sizeof(uint32_t) || text + (int64_t)prefix > HEAD_CAP)
		return 0;
	return prefix;
}

static struct search search_for(struct memory *m, const struct cpy_layout *l, const char *key)
{
	/* Python 2's str counts bytes. */
	uint64_t length = l->strings == STRINGS_PY2 ? strlen(key) : characters(key);
	size_t prefix = length == strlen(key) ? early_prefix(l, length) : 0;

	return (struct search){ .m = m, .l = l, .key = key, .length = length, .prefix = prefix };
}

struct err cpy_dict_get(struct memory *m, const struct cpy_layout *l, raddr_t dict, const char *key, raddr_t *ret)
{
	struct search s = search_for(m, l, key);
	struct table t;
	struct err e = dict_table(m, l, dict, &t);

	return failed(e) ? e : search(&t, search_str, &s, ret);
}

struct err cpy_dict_get_int(struct memory *m, const struct cpy_layout *l, raddr_t dict, uint64_t key, raddr_t *ret)
{
	struct search s = { .m = m, .l = l, .hash = key };
	struct table t;
	struct err e = dict_table(m, l, dict, &t);

	return failed(e) ? e : search(&t, search_int, &s, ret);
}

/* tp_dictoffset; a negative one counts from the end of an object of variable size. */
static struct err dict_by_offset(struct memory *m, const struct cpy_layout *l, raddr_t object, raddr_t type,
				 raddr_t *dict)
{
	int64_t offset, basic, item, count = 0;
	struct memory_range ranges[] = {
		{ type + l->type_dictoffset, &offset, sizeof(offset) },
		{ type + l->type_basicsize, &basic, sizeof(basic) },
		{ type + l->type_itemsize, &item, sizeof(item) },
	};
	struct err e = memory_readv(m, ranges, countof(ranges), NULL);

	if (!failed(e) && offset < 0)
		e = memory_u64(m, object + l->var_size, (uint64_t *)&count);
	if (failed(e))
		return e;
	if (basic < 0 || basic > BASIC_SIZE_CAP || item < 0 || item > BASIC_SIZE_CAP || offset > BASIC_SIZE_CAP ||
	    offset < -BASIC_SIZE_CAP || count > ENTRIES_CAP || count < -ENTRIES_CAP)
		return err_at(ERR_CORRUPT, type, "size of object");
	if (offset == 0)
		return err_at(ERR_UNSUPPORTED, object, "no __dict__");
	if (offset < 0)
		offset += (basic + (count < 0 ? -count : count) * item + WORD - 1) / WORD * WORD;
	return memory_ptr(m, object + (raddr_t)offset, dict);
}

/* 3.13+: values lie behind the object until a __dict__ takes them over. */
static struct err inline_values(struct memory *m, const struct cpy_layout *l, raddr_t object, raddr_t type,
				uint64_t flags, raddr_t *values, raddr_t *dict)
{
	/* The pointer stands before the GC header, which free-threaded builds do not have. */
	raddr_t managed = object - (l->free_threaded ? 1 : 3) * WORD;
	uint64_t size;
	uint8_t valid;
	struct err e = memory_ptr(m, managed, dict);

	if (failed(e) || *dict || !(flags & CPY_TYPE_INLINE_VALUES))
		return e;
	e = memory_u64(m, type + l->type_basicsize, &size);
	if (failed(e))
		return e;
	if (size > BASIC_SIZE_CAP)
		return err_at(ERR_CORRUPT, type, "size of object");
	/* _dictvalues begins with the bytes capacity, size, embedded, valid (Include/internal/pycore_dict.h).
	 */
	e = memory_read(m, object + size + 3, &valid, sizeof(valid));
	if (!failed(e) && valid)
		*values = object + size;
	return e;
}

/* Either the values of an instance, or its dict. */
static struct err instance_storage(struct memory *m, const struct cpy_layout *l, raddr_t object, raddr_t type,
				   uint64_t flags, raddr_t *values, raddr_t *dict)
{
	raddr_t word;
	struct err e;

	*values = *dict = 0;
	if (l->attrs == ATTRS_DICTOFFSET || !(flags & CPY_TYPE_MANAGED_DICT))
		return dict_by_offset(m, l, object, type, dict);
	if (l->attrs == ATTRS_INLINE)
		return inline_values(m, l, object, type, flags, values, dict);
	e = memory_ptr(m, object - 3 * WORD, &word);
	if (failed(e))
		return e;
	if (l->attrs == ATTRS_311) {
		*dict = word;
		return memory_ptr(m, object - 4 * WORD, values);
	}
	/* 3.12: values are tagged by pointing one byte before them. */
	if (word & 1)
		*values = word + 1;
	else
		*dict = word;
	return OK;
}

struct err cpy_attribute(struct memory *m, const struct cpy_layout *l, raddr_t object, const char *name, raddr_t *ret)
{
	struct search s = search_for(m, l, name);
	raddr_t type, values, dict, keys;
	struct table t = { 0 };
	uint64_t flags;
	struct err e = cpy_type_flags(m, l, object, &type, &flags);

	if (!failed(e))
		e = instance_storage(m, l, object, type, flags, &values, &dict);
	if (failed(e))
		return e;
	if (!values)
		return dict ? cpy_dict_get(m, l, dict, name, ret) : err_at(ERR_UNSUPPORTED, object, "no attributes");
	e = memory_ptr(m, type + l->heap_type_cached_keys, &keys);
	if (!failed(e))
		e = keys_table(m, l, keys, &t);
	if (failed(e))
		return e;
	t.values = values + (cpy_has(l->dictvalues_values) ? l->dictvalues_values : 0);
	return search(&t, search_str, &s, ret);
}
