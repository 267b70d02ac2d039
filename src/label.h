/* label.h - what label.c keeps for a profile; labels themselves are in cspy/sink.h. */
#ifndef CSPY_LABEL_H
#define CSPY_LABEL_H

struct label_files;
struct label_files *label_files_new(void);
void label_files_free(struct label_files *l); /* accepts NULL */

#endif
