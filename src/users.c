/* users.c - names of users. */
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "users.h"

#ifdef CSPY_STATIC
enum { GROUPS_MAX = 1024 };

/* A static program must not load the name services of a system whose libc is another one. */
const struct passwd *users_find(uid_t uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *p;

	if (!f)
		return NULL;
	while ((p = fgetpwent(f)) && p->pw_uid != uid)
		continue;
	fclose(f);
	return p;
}

int users_take_groups(const struct passwd *user, gid_t gid)
{
	gid_t list[GROUPS_MAX] = { gid };
	size_t n = 1;
	FILE *f = fopen("/etc/group", "re");
	const struct group *g;

	while (f && n < GROUPS_MAX && (g = fgetgrent(f)))
		for (char **member = g->gr_mem; *member && n < GROUPS_MAX; member++)
			if (!strcmp(*member, user->pw_name) && g->gr_gid != gid)
				list[n++] = g->gr_gid;
	if (f)
		fclose(f);
	return setgroups(n, list);
}
#else
const struct passwd *users_find(uid_t uid)
{
	return getpwuid(uid);
}

int users_take_groups(const struct passwd *user, gid_t gid)
{
	return initgroups(user->pw_name, gid);
}
#endif

void users_name(uid_t uid, char *buf, size_t cap)
{
	const struct passwd *user = users_find(uid);

	if (user)
		snprintf(buf, cap, "%s", user->pw_name);
	else
		snprintf(buf, cap, "user %lu", (unsigned long)uid);
}
