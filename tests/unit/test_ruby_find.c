/* test_ruby_find.c - Ruby is found in running interpreters in more ways than one, and any read of it may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cspy/runtime.h"
#include "interpreters.h"
#include "ruby/ruby.h"

extern const struct runtime_ops runtime_ruby;

enum { MAX_RUBIES = 16, DEPTH = 100, FRAMES_MIN = 6 };

#define PROGRAM                                                                                                        \
	"class Deep\n"                                                                                                 \
	"  def self.down(n)\n"                                                                                         \
	"    n == 0 ? [1].each { sleep } : [n].map { |k| down(k - 1) }\n"                                              \
	"  end\n"                                                                                                      \
	"end\n"                                                                                                        \
	"Thread.new { Thread.current.name = 'second'; Fiber.new { Deep.down(1) }.resume }\n"                           \
	"Thread.new { sleep 0.2; $stdout.write('r'); $stdout.flush; sleep }\n"                                         \
	"Deep.down(3)\n"

static struct interpreter rubies[MAX_RUBIES];
static size_t ruby_count;

static int list_rubies(void **state)
{
	(void)state;
	ruby_count = interpreters_list("ruby", rubies, MAX_RUBIES);
	return 0;
}

struct live {
	pid_t pid;
	struct target *t;
	struct image *img;
	const struct mapping *at; /* a copy: looking for names refreshes the maps */
	struct mapping kept;
	void *instance;
};

static void live_open(const struct interpreter *r, struct live *l)
{
	char why[256] = "";

	*l = (struct live){ .pid = interpreter_start(r->command, "-e", PROGRAM) };
	assert_false(failed(target_open(l->pid, &l->t)));
	for (size_t i = 0; i < l->t->maps.count && !l->instance; i++) {
		int fd;

		l->at = &l->t->maps.list[i];
		if (!l->at->inode || l->at->path[0] != '/' || failed(target_open_mapping(l->t, l->at, &fd)) ||
		    failed(image_open(fd, l->at->path, &l->img)))
			continue;
		if (!failed(runtime_ruby.attach(l->t, l->at, l->img, why, sizeof(why), &l->instance))) {
			l->kept = *l->at;
			l->kept.path = xstrdup(l->at->path);
			l->at = &l->kept;
			return;
		}
		image_close(l->img);
		l->img = NULL;
	}
	fail_msg("%s: not found: %s", r->name, why);
}

static void live_close(struct live *l)
{
	if (l->instance)
		runtime_ruby.detach(l->instance);
	kill(l->pid, SIGKILL);
	waitpid(l->pid, NULL, 0);
	image_close(l->img);
	target_close(l->t);
	free((char *)l->kept.path);
}

static void each_way_leads_to_the_same_vm(void **state)
{
	(void)state;
	if (ruby_count == 0)
		skip();
	for (size_t i = 0; i < ruby_count; i++) {
		struct live l;
		struct rby_roots roots;
		struct rby_gc_code gc;
		struct image_sym sym;
		char why[256];
		uint64_t bias;
		raddr_t vm;

		live_open(&rubies[i], &l);
		assert_false(failed(rby_find(l.t, l.at, l.img, why, sizeof(why), &roots)));
		print_message("%s: %s, %s\n", rubies[i].name, roots.version, roots.layout_source);
		assert_string_equal(roots.version, rubies[i].version);
		assert_true(roots.exact && roots.symbols && roots.gc_flags);
		bias = l.at->start;
		assert_true(image_symbol(l.img, "rb_during_gc", &sym));
		rby_decode_gc(l.t->memory, bias + sym.svma, &gc);
		assert_true(gc.vm_at[0] == roots.vm_at || gc.vm_at[1] == roots.vm_at);
		assert_int_equal(gc.objspace_flags, roots.layout.objspace_flags);
		assert_int_equal(gc.vm_objspace, roots.layout.vm_objspace);
		vm = rby_scan_vm(l.t, &roots.areas, &roots.layout);
		assert_int_equal(vm, roots.vm_at);
		live_close(&l);
	}
}

static void a_layout_of_another_version_does_not_close_the_loop(void **state)
{
	(void)state;
	if (ruby_count == 0)
		skip();
	for (size_t i = 0; i < ruby_count; i++) {
		const struct rby_layout *row;
		struct rby_roots roots;
		struct live l;
		char why[256];

		live_open(&rubies[i], &l);
		assert_false(failed(rby_find(l.t, l.at, l.img, why, sizeof(why), &roots)));
		assert_int_equal(rby_loop(l.t->memory, &roots.layout, roots.vm_at), LOOP_CLOSED);
		for (size_t k = 0; (row = rby_layout_at(k)); k++) {
			bool same = row->thread_ec == roots.layout.thread_ec &&
				    row->thread_vm == roots.layout.thread_vm &&
				    row->ec_thread == roots.layout.ec_thread &&
				    row->vm_main_thread == roots.layout.vm_main_thread;

			if (!same)
				assert_int_equal(rby_loop(l.t->memory, row, roots.vm_at), LOOP_NONE);
		}
		live_close(&l);
	}
}

/* One look of an instance: how many frames have a name? */
static size_t named_frames(struct live *l, void *instance, struct strings *strings)
{
	const struct rt_look how = { .now_ns = 1000000000, .certain = true, .twice = true };
	struct raw_stacks stacks;
	size_t named = 0;

	raw_stacks_init(&stacks, DEPTH);
	if (!failed(runtime_ruby.sample(instance, l->t, &how, &stacks))) {
		for (size_t i = 0; i < stacks.count; i++) {
			const struct raw_stack *s = &stacks.list[i];

			for (uint32_t k = 0; !failed(s->err) && k < s->count; k++) {
				struct frame_info info = { 0 };

				if (!failed(runtime_ruby.resolve(instance, l->t, &stacks.frames[s->first + k], strings,
								 &info))) {
					assert_true(strings_get(strings, info.function)[0]);
					named++;
				}
			}
			str_id name;
			(void)!failed(runtime_ruby.thread_name(instance, l->t, s, strings, &name));
		}
	}
	raw_stacks_free(&stacks);
	return named;
}

/* One whole look: attach, sample, name. */
static size_t look(struct live *l, struct strings *strings)
{
	char why[256] = "";
	size_t named;
	void *instance;

	if (failed(runtime_ruby.attach(l->t, l->at, l->img, why, sizeof(why), &instance)))
		return 0;
	named = named_frames(l, instance, strings);
	runtime_ruby.detach(instance);
	return named;
}

/* The same with roots that are given. */
static size_t look_with(struct live *l, const struct rby_roots *roots, struct strings *strings)
{
	struct rby *r;
	size_t named;

	if (failed(rby_attach_roots(roots, l->t, &r)))
		return 0;
	named = named_frames(l, r, strings);
	runtime_ruby.detach(r);
	return named;
}

/* What says how long copies are, and where in them; test_ruby_layouts holds these together. */
static bool is_of_copies(const struct rby_layout *l, const int32_t *field)
{
	return field == &l->frame_size || field == &l->frame_jit_return || field == &l->line_size ||
	       field == &l->line_at || field == &l->call_size;
}

/* Of a patch level that moved one thing, and of another version that closes the loop: fewer names, never an end. */
static void a_layout_that_is_wrong_somewhere_is_survived(void **state)
{
	(void)state;
	if (ruby_count == 0)
		skip();
	for (size_t i = 0; i < ruby_count; i++) {
		struct strings *strings = strings_new();
		struct rby_roots roots, wrong;
		const struct rby_layout *row;
		struct live l;
		char why[256];
		size_t tries = 0, fewer = 0, most;

		live_open(&rubies[i], &l);
		assert_false(failed(rby_find(l.t, l.at, l.img, why, sizeof(why), &roots)));
		/* The thread that said that all is ready goes to sleep meanwhile. */
		do
			most = look_with(&l, &roots, strings);
		while (look_with(&l, &roots, strings) != most);
		assert_true(most > FRAMES_MIN);
		for (int32_t *field = &wrong.layout.vm_threads; field <= &wrong.layout.class_attached; field++) {
			for (int32_t off = -8; off <= 8; off += 16) {
				wrong = roots;
				*field += off;
				if (*field - off == NO_FIELD || *field < 0 || is_of_copies(&wrong.layout, field))
					continue;
				tries++;
				fewer += look_with(&l, &wrong, strings) < most;
			}
		}
		for (size_t k = 0; (row = rby_layout_at(k)); k++) {
			wrong = roots;
			wrong.layout = *row;
			look_with(&l, &wrong, strings);
		}
		print_message("%s: %zu of %zu layouts with one field moved lost frames\n", rubies[i].name, fewer,
			      tries);
		assert_true(tries > 40 && fewer > 10 && fewer < tries);
		strings_free(strings);
		live_close(&l);
	}
}

/* What one look reads is recorded; then it is done again on the recording, with each read failing in turn. */
static void any_read_may_fail(void **state)
{
	char path[] = "/tmp/cspy-ruby-XXXXXX";
	int fd;

	(void)state;
	if (ruby_count == 0)
		skip();
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < ruby_count; i++) {
		struct strings *strings = strings_new();
		struct memory *live;
		struct live l;
		size_t named, fewer = 0;
		uint64_t fail = 0;
		bool fired = true;

		live_open(&rubies[i], &l);
		live = l.t->memory;
		l.t->memory = memory_record_new(live);
		named = look(&l, strings);
		assert_true(named > FRAMES_MIN);
		assert_false(failed(memory_record_save(l.t->memory, path)));
		for (; fired; fail++) {
			struct memory *snapshot, *recording = l.t->memory;
			size_t now;

			assert_false(failed(memory_snapshot_open(path, &snapshot)));
			l.t->memory = memory_faulty_new(snapshot, fail);
			now = look(&l, strings);
			fired = memory_faulty_fired(l.t->memory);
			assert_true(now <= named);
			if (!fired)
				assert_int_equal(now, named);
			fewer += now < named;
			memory_close(l.t->memory);
			l.t->memory = recording;
		}
		print_message("%s: %zu frames named, %zu of %llu failing reads lost some\n", rubies[i].name, named,
			      fewer, (unsigned long long)fail);
		assert_true(fewer > 10);
		strings_free(strings);
		live_close(&l);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_leads_to_the_same_vm),
		cmocka_unit_test(a_layout_of_another_version_does_not_close_the_loop),
		cmocka_unit_test(a_layout_that_is_wrong_somewhere_is_survived),
		cmocka_unit_test(any_read_may_fail),
	};

	return cmocka_run_group_tests(tests, list_rubies, NULL);
}
