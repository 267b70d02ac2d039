/* jit_name.c - split the names of perf maps: V8's, CPython's, the JVM's, .NET's, and any other. */
#include <string.h>

#include "jit_name.h"

enum { DIGITS_MAX = 9 };

/* The words before V8's names, up to the colon. */
static const char *const functions[] = { "JS",	   "LazyCompile",    "Function",	  "Eval",
					 "Script", "NativeFunction", "NativeLazyCompile", "NativeScript",
					 NULL };
static const char *const glue[] = { "Builtin", "BytecodeHandler", "Stub", "Handler", "Callback", NULL };

static struct jit_text tag_of(const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len);

	return (struct jit_text){ text, colon ? (size_t)(colon - text) : 0 };
}

static bool is_one_of(struct jit_text tag, const char *const *words)
{
	for (; *words; words++)
		if (tag.len == strlen(*words) && !memcmp(tag.at, *words, tag.len))
			return true;
	return false;
}

bool jit_name_is_glue(const char *text, size_t len)
{
	return is_one_of(tag_of(text, len), glue);
}

static struct jit_text after(struct jit_text t, size_t n)
{
	return (struct jit_text){ t.at + n, t.len - n };
}

static bool begins(struct jit_text t, const char *with)
{
	size_t len = strlen(with);

	return t.len >= len && !memcmp(t.at, with, len);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Take ":12" off the end; false: there is no such number. */
static bool take_number(struct jit_text *t, uint32_t *ret)
{
	size_t i = t->len;

	while (i > 0 && is_digit(t->at[i - 1]) && t->len - i < DIGITS_MAX)
		i--;
	if (i == t->len || i == 0 || t->at[i - 1] != ':')
		return false;
	*ret = 0;
	for (size_t k = i; k < t->len; k++)
		*ret = *ret * 10 + (uint32_t)(t->at[k] - '0');
	t->len = i - 1;
	return true;
}

/* Paths and functions may have spaces in them: a path is best told by its first part. */
static size_t file_begins(struct jit_text t)
{
	static const char *const firsts[] = { " /", " file:", " node:", NULL };
	size_t last = t.len;

	for (size_t i = 0; i < t.len; i++) {
		if (t.at[i] != ' ')
			continue;
		for (const char *const *f = firsts; *f; f++)
			if (begins(after(t, i), *f))
				return i;
		last = i;
	}
	return last;
}

static bool is_library(struct jit_text file)
{
	static const char modules[] = "/node_modules/";

	return begins(file, "node:") || memmem(file.at, file.len, modules, sizeof(modules) - 1);
}

/* "foo /app/x.js:12:3", "foo /app/x.js:12", " /app/x.js:1:1", "foo" */
static void split_place(struct jit_text t, struct jit_name *ret)
{
	struct jit_text whole = t;
	uint32_t number;
	size_t space;

	ret->function = whole;
	if (!take_number(&t, &ret->line))
		return;
	if (take_number(&t, &number)) {
		ret->column = ret->line;
		ret->line = number;
	}
	space = file_begins(t);
	if (space == t.len) {
		ret->line = ret->column = 0;
		return;
	}
	ret->function = (struct jit_text){ t.at, space };
	ret->file = after(t, space + 1);
	if (begins(ret->file, "file://"))
		ret->file = after(ret->file, strlen("file://"));
	ret->library = is_library(ret->file);
}

/* "~foo /app/x.js:12:3"; before the tier may be o (replaced while it ran), after it ' (by its context). */
static void split_v8(struct jit_text t, struct jit_name *ret)
{
	size_t at = t.len > 1 && t.at[0] == 'o' && strchr("~^+*", t.at[1]) ? 1 : 0;

	ret->kind = FRAME_JS;
	if (t.len > at && t.at[at] && strchr("~^+*", t.at[at])) {
		ret->tier = t.at[at++];
		at += t.len > at && t.at[at] == '\'';
		t = after(t, at);
	}
	split_place(t, ret);
	if (!ret->function.len)
		ret->function = (struct jit_text){ "(anonymous)", strlen("(anonymous)") };
}

/* "py::Shop.total:/app/shop.py" */
static void split_python(struct jit_text t, struct jit_name *ret)
{
	const char *colon = memchr(t.at, ':', t.len);

	ret->kind = FRAME_PYTHON;
	ret->function = t;
	if (!colon)
		return;
	ret->function.len = (size_t)(colon - t.at);
	ret->file = after(t, ret->function.len + 1);
}

/* "double Shop.total(int, double)", "int32 [App] Shop::Total(int32)[Tier1]": without what stands around. */
static void split_signature(struct jit_text t, struct jit_name *ret)
{
	size_t open = 0, space = 0;

	ret->function = t;
	if (t.len && t.at[t.len - 1] == ']' && memrchr(t.at, '[', t.len) > memchr(t.at, ')', t.len) &&
	    memchr(t.at, ')', t.len))
		t.len = (size_t)((const char *)memrchr(t.at, '[', t.len) - t.at);
	while (open < t.len && t.at[open] != '(')
		open++;
	if (open == t.len || t.at[t.len - 1] != ')')
		return;
	for (size_t i = 0; i < open; i++)
		if (t.at[i] == ' ')
			space = i + 1;
	if (space < open)
		ret->function = after(t, space);
}

void jit_name_split(const char *text, size_t len, struct jit_name *ret)
{
	struct jit_text t = { text, len }, tag = tag_of(text, len);

	*ret = (struct jit_name){ .kind = FRAME_NATIVE, .file = { "", 0 } };
	if (is_one_of(tag, functions)) {
		split_v8(after(t, tag.len + 1), ret);
	} else if (is_one_of(tag, glue)) {
		ret->function = after(t, tag.len + 1);
		ret->library = true;
	} else if (begins(t, "RegExp:")) {
		ret->function = t;
		ret->kind = FRAME_JS;
	} else if (begins(t, "py::")) {
		split_python(after(t, strlen("py::")), ret);
	} else {
		split_signature(t, ret);
	}
	if (!ret->function.len)
		ret->function = (struct jit_text){ "[jit]", strlen("[jit]") };
}
