/* find_version.c - which CPython version a file holds. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "find_steps.h"

enum { MAX_MINOR = 99, MAX_MICRO = 99 };

void cpy_version_from_hex(uint32_t hex, struct cpy_version *ret)
{
	static const char *const levels[16] = { [0xa] = "a", [0xb] = "b", [0xc] = "rc" };
	const char *level = levels[(hex >> 4) & 0xf];

	*ret = (struct cpy_version){ .major = hex >> 24, .minor = (hex >> 16) & 0xff, .micro = (hex >> 8) & 0xff };
	int n = snprintf(ret->text, sizeof(ret->text), "%u.%u.%u", ret->major, ret->minor, ret->micro);
	if (level)
		snprintf(ret->text + n, sizeof(ret->text) - n, "%s%u", level, hex & 0xf);
}

/* The read-only bytes that hold the file's strings. */
struct strings_area {
	const char *start, *end;
	uint64_t svma; /* of the start */
};

static bool area_of(struct image *img, struct strings_area *ret)
{
	const void *bytes;
	size_t len;

	if (!image_section(img, ".rodata", &ret->svma, &bytes, &len) || !bytes || len == 0)
		return false;
	ret->start = bytes;
	ret->end = ret->start + len;
	return true;
}

static const char *find_in(const char *from, const char *end, const char *needle)
{
	return memmem(from, (size_t)(end - from), needle, strlen(needle));
}

/* A whole string "X.Y.Z", "X.Y.Zb1" or "X.Y.Z+" in the area. */
static bool find_text(const struct strings_area *area, unsigned major, unsigned minor, struct cpy_version *ret)
{
	char prefix[16];
	const char *at = area->start;

	snprintf(prefix, sizeof(prefix), "%u.%u.", major, minor);
	for (; (at = find_in(at, area->end, prefix)) != NULL; at++) {
		/* A string may be the tail of another one, but not of a number. */
		if (at > area->start && (isdigit((unsigned char)at[-1]) || at[-1] == '.'))
			continue;
		size_t len = strnlen(at, (size_t)(area->end - at)), into = strlen(prefix);
		if (len >= sizeof(ret->text) || at + len == area->end || !isdigit((unsigned char)at[into]))
			continue;
		unsigned micro = (unsigned)atoi(at + into);
		into += strspn(at + into, "0123456789");
		into += strspn(at + into, "abrc0123456789+");
		if (into != len || micro > MAX_MICRO)
			continue;
		*ret = (struct cpy_version){ .major = major, .minor = minor, .micro = micro };
		memcpy(ret->text, at, len);
		return true;
	}
	return false;
}

/*
 * What tells an interpreter from a library that merely knows of one: the tag of its own byte code files
 * (3.2+), or a message of import.c's (2.7).
 */
static bool find_tag(const struct strings_area *area, struct cpy_version *ret)
{
	static const char tag[] = "cpython-3", message[] = "Python import machinery not initialized";

	for (const char *at = area->start; (at = find_in(at, area->end, tag)) != NULL; at += strlen(tag)) {
		const char *digits = at + strlen(tag);
		unsigned minor = 0;
		for (; digits < area->end && isdigit((unsigned char)*digits) && minor <= MAX_MINOR; digits++)
			minor = minor * 10 + (unsigned)(*digits - '0');
		if (digits == at + strlen(tag) || minor > MAX_MINOR)
			continue;
		if (find_text(area, 3, minor, ret))
			return true;
	}
	return find_in(area->start, area->end, message) && find_text(area, 2, 7, ret);
}

static bool find_number(struct image *img, const struct strings_area *area, struct cpy_version *ret)
{
	size_t len = (size_t)(area->end - area->start);
	struct image_sym sym;
	uint32_t hex;

	if (!image_symbol(img, "Py_Version", &sym) || len < sizeof(hex) || sym.svma - area->svma > len - sizeof(hex))
		return false;
	memcpy(&hex, area->start + (sym.svma - area->svma), sizeof(hex));
	cpy_version_from_hex(hex, ret);
	return ret->major != 0;
}

bool cpy_version_find(struct image *img, struct cpy_version *ret)
{
	struct strings_area area;

	*ret = (struct cpy_version){ 0 };
	return area_of(img, &area) && (find_number(img, &area, ret) || find_tag(&area, ret));
}

bool cpy_version_from_path(const char *path, struct cpy_version *ret)
{
	const char *slash = strrchr(path, '/');
	const char *name = strstr(slash ? slash : path, "python");
	unsigned major, minor;

	if (!name || sscanf(name, "python%1u.%2u", &major, &minor) != 2)
		return false;
	*ret = (struct cpy_version){ .major = major, .minor = minor };
	snprintf(ret->text, sizeof(ret->text), "%u.%u", major, minor);
	return true;
}
