/* users.h - names of users. */
#ifndef CSPY_USERS_H
#define CSPY_USERS_H

#include <pwd.h>

#include "cspy/base.h"

/* NULL: there is none of this id. As getpwuid(3): valid until the next call. */
const struct passwd *users_find(uid_t uid);
/* The name, or "user 1000". */
void users_name(uid_t uid, char *buf, size_t cap);

/* Become a member of the user's groups, and of `gid`, and of no other. 0, or -1 with errno. */
int users_take_groups(const struct passwd *user, gid_t gid);

#endif
