/* cmd_doctor.c - cspy doctor: can this process be profiled, and if not, why? */
#include "command.h"
#include "doctor.h"
#include "json.h"
#include "utf8.h"

struct options {
	pid_t pid;
	bool json;
};

#define AT(field) offsetof(struct options, field)
static const struct option_row rows[] = {
	{ "pid", 'p', OPTION_PID, AT(pid), "PID", "the process; PID alone does, too" },
	{ "json", 'j', OPTION_FLAG, AT(json), NULL, "for programs to read" },
	OPTION_ROW_HELP,
	OPTION_ROW_VERSION,
	{ 0 },
};

static const char *const marks[] = { [VERDICT_GOOD] = "ok", [VERDICT_NOTE] = "note", [VERDICT_BAD] = "BAD" };
static const char *const words[] = { [VERDICT_GOOD] = "good", [VERDICT_NOTE] = "note", [VERDICT_BAD] = "bad" };

static void print_text(const struct diagnosis *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct finding *f = &d->list[i];

		printf("%-5s %-15s ", marks[f->verdict], f->name);
		utf8_put_plain(stdout, f->text);
		putchar('\n');
		if (*f->hint)
			printf("%-5s %-15s -> %s\n", "", "", f->hint);
	}
	printf("\nProcess %d %s\n", (int)d->pid, d->exit_code == EXIT_OK ? "can be profiled" : "can't be profiled");
}

static void put(const char *key, const char *v)
{
	json_key(stdout, key);
	json_text(stdout, v);
}

static void print_json(const struct diagnosis *d)
{
	printf("{\"pid\":%d,\"ok\":%s,", (int)d->pid, d->exit_code == EXIT_OK ? "true" : "false");
	put("runtime", d->about.name);
	putchar(',');
	put("version", d->about.version);
	putchar(',');
	put("build_id", d->build_id);
	putchar(',');
	put("layout", d->layout);
	fputs(",\"unwind\":{", stdout);
	put("executable", d->rows_exe ? d->rows_exe : "none");
	putchar(',');
	put("runtime", d->rows_runtime ? d->rows_runtime : "none");
	putchar('}');
	fputs(",\"findings\":[", stdout);
	for (size_t i = 0; i < d->count; i++) {
		const struct finding *f = &d->list[i];

		fputs(i ? ",\n{" : "{", stdout);
		put("name", f->name);
		putchar(',');
		put("verdict", words[f->verdict]);
		putchar(',');
		put("text", f->text);
		putchar(',');
		put("hint", f->hint);
		putchar('}');
	}
	puts("]}");
}

static int doctor_run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct options_rest rest;
	int code;
	struct diagnosis d;

	if (!command_parse(self, argc, argv, &o, &rest, &code))
		return code;
	if (rest.command || (rest.operand && (o.pid || !options_pid(rest.operand, &o.pid))) || !o.pid)
		return advice_say(EXIT_USAGE, "doctor takes one process id",
				  "as in: cspy doctor 4711; cspy ps lists processes");
	doctor_examine(o.pid, &d);
	(o.json ? print_json : print_text)(&d);
	return d.exit_code;
}

const struct command command_doctor = {
	.name = "doctor",
	.usage = "[OPTIONS] -p PID",
	.summary = "say whether a process can be profiled, and if not, why",
	.options = rows,
	.run = doctor_run,
};
