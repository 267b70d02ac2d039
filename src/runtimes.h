/* runtimes.h - find which runtime a target runs and attach its plugin. */
#ifndef CSPY_RUNTIMES_H
#define CSPY_RUNTIMES_H

#include "cspy/runtime.h"
#include "cspy/sampler.h"

/*
 * Offers every mapped ELF file to every plugin; `any`: then to those that take every process. ERR_UNSUPPORTED: none of
 * them knows it; `why` then has one line for the user that names what was found.
 */
MUST_CHECK struct err runtimes_attach(struct target *t, bool any, char *why, size_t cap, const struct runtime_ops **ops,
				      void **instance);
/* For sampling: the pauses asked for become those that the plugin needs. */
MUST_CHECK struct err runtimes_attach_sampled(struct target *t, struct sampler_options *o, char *why, size_t cap,
					      const struct runtime_ops **ops, void **instance);
/* The plugin that takes every process, beside the one that was attached. */
MUST_CHECK struct err runtimes_attach_native(struct target *t, const struct runtime_ops **ops, void **instance);

/* The same, and the address of a mapping of the file that it was found in. */
MUST_CHECK struct err runtimes_find(struct target *t, bool any, char *why, size_t cap, const struct runtime_ops **ops,
				    void **instance, raddr_t *ret_at);

#endif
