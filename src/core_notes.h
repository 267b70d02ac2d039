/* core_notes.h - what the notes of a core file tell of the process. */
#ifndef CSPY_CORE_NOTES_H
#define CSPY_CORE_NOTES_H

#include <gelf.h>

#include "core.h"

/* Threads, command and mapped files, as far as they are sound; `notes` may be NULL. */
void core_read_notes(struct core *c, Elf_Data *notes);

#endif
