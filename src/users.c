/* users.c - names of users. */
#include <stdio.h>

#include "users.h"

#ifdef CSPY_STATIC
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
#else
const struct passwd *users_find(uid_t uid)
{
	return getpwuid(uid);
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
