/* debug_server.c - debug files from a debuginfod server, for a user who asked for that. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cspy/sampler.h"
#include "debug_server.h"

#ifdef CSPY_STATIC
struct debug_server *debug_server_open(debug_server_say *say, void *arg, const char **why)
{
	(void)say;
	(void)arg;
	*why = "the static program can't load libdebuginfod";
	return NULL;
}

void debug_server_close(struct debug_server *s)
{
	(void)s;
}

int debug_server_fetch(struct debug_server *s, const char *name, const uint8_t *id, size_t len)
{
	(void)s;
	(void)name;
	(void)id;
	(void)len;
	return -1;
}

void debug_server_count(const struct debug_server *s, unsigned *ret_asked, unsigned *ret_came)
{
	(void)s;
	*ret_asked = *ret_came = 0;
}
#else
static const uint64_t FILE_NS = 10ull * 1000000000, ALL_NS = 60ull * 1000000000;
enum { FILE_BYTES_MAX = 1 << 30 };

/* Of libdebuginfod.so.1. Upstream: elfutils, debuginfod/debuginfod.h. */
typedef int progress_fn(void *client, long done, long all);
struct library {
	void *handle;
	void *(*begin)(void);
	void (*end)(void *client);
	void (*set_progressfn)(void *client, progress_fn *fn);
	void (*set_user_data)(void *client, void *data);
	int (*find_debuginfo)(void *client, const unsigned char *id, int len, char **path);
};

struct debug_server {
	struct library library;
	void *client;
	debug_server_say *say;
	void *arg;
	const char *name; /* of the module whose file comes */
	uint64_t start_ns, spent_ns;
	unsigned asked, came;
	bool silent; /* did not answer in time */
};

/* Has somebody asked cspy to end? Its signals are held back until it looks for them. */
static bool is_to_end(void)
{
	sigset_t set;

	return sigpending(&set) == 0 && (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM));
}

static bool find_all(struct library *l)
{
	const struct {
		const char *name;
		void **at;
	} all[] = {
		{ "debuginfod_begin", (void **)&l->begin },
		{ "debuginfod_end", (void **)&l->end },
		{ "debuginfod_set_progressfn", (void **)&l->set_progressfn },
		{ "debuginfod_set_user_data", (void **)&l->set_user_data },
		{ "debuginfod_find_debuginfo", (void **)&l->find_debuginfo },
	};

	for (size_t i = 0; i < countof(all); i++) {
		*all[i].at = dlsym(l->handle, all[i].name);
		if (!*all[i].at)
			return false;
	}
	return true;
}

/* Not 0: enough. What belongs to a client, its library alone can tell. */
static int progress(void *client, long done, long all)
{
	void *(*user_data)(void *) = (void *(*)(void *))dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");
	struct debug_server *s = user_data ? user_data(client) : NULL;

	if (!s || done > FILE_BYTES_MAX || all > FILE_BYTES_MAX || is_to_end())
		return 1;
	s->silent = clock_now() - s->start_ns > FILE_NS;
	if (s->say)
		s->say(s->arg, s->name, done > 0 ? (uint64_t)done : 0, all > 0 ? (uint64_t)all : 0);
	return s->silent;
}

static bool load(struct library *l, const char **why)
{
	l->handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_GLOBAL);
	*why = "libdebuginfod.so.1 is not there (package libdebuginfod1)";
	if (l->handle && find_all(l))
		return true;
	if (l->handle)
		dlclose(l->handle);
	l->handle = NULL;
	return false;
}

static void unload(struct library *l)
{
	if (l->handle)
		dlclose(l->handle);
}

struct debug_server *debug_server_open(debug_server_say *say, void *arg, const char **why)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debug_server *s;

	*why = "DEBUGINFOD_URLS names no server";
	if (!urls || !*urls)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->say = say;
	s->arg = arg;
	if (load(&s->library, why)) {
		*why = "libdebuginfod can't be used";
		s->client = s->library.begin();
	}
	if (!s->client) {
		debug_server_close(s);
		return NULL;
	}
	s->library.set_user_data(s->client, s);
	s->library.set_progressfn(s->client, progress);
	return s;
}

void debug_server_close(struct debug_server *s)
{
	if (!s)
		return;
	if (s->client)
		s->library.end(s->client);
	unload(&s->library);
	free(s);
}

int debug_server_fetch(struct debug_server *s, const char *name, const uint8_t *id, size_t len)
{
	int fd;

	if (s->silent || s->spent_ns > ALL_NS || len > INT32_MAX)
		return -1;
	s->name = name;
	s->start_ns = clock_now();
	s->asked++;
	fd = s->library.find_debuginfo(s->client, id, (int)len, NULL);
	s->spent_ns += clock_now() - s->start_ns;
	/* Who says that it has no such file has answered. */
	s->silent = s->silent || fd == -ETIME || fd == -ETIMEDOUT || fd == -ECONNREFUSED || fd == -EHOSTUNREACH;
	s->came += fd >= 0;
	return fd < 0 ? -1 : fd;
}

void debug_server_count(const struct debug_server *s, unsigned *ret_asked, unsigned *ret_came)
{
	*ret_asked = s->asked;
	*ret_came = s->came;
}
#endif
