#ifndef RUN_DESCRIPTORS_H
#define RUN_DESCRIPTORS_H

/* Moves a new descriptor above those of standard input, output and error, which may be closed and belong to the
 * command; returns it, or -1. It is closed on exec. */
int above_standard(int descriptor);

/* Closes every descriptor above standard error but those in the list, which is sorted. Standard input and output, and
 * standard error unless `keeps_errors`, become /dev/null: so a reader that waits for the command to close them waits
 * for no other process. */
void keep_only(int kept[], int count, int keeps_errors);

#endif
