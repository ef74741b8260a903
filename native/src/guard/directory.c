#include "directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHUNK_BYTES = 4096 };

/* struct linux_dirent64 of getdents64(2): its length is at 16, its name at 19. */
enum { LENGTH_AT = 16, NAME_AT = 19 };

static long number_of(const char *name)
{
	if (*name < '1' || *name > '9')
		return 0;
	char *end;
	errno = 0;
	long number = strtol(name, &end, 10);
	return *end == '\0' && errno == 0 ? number : 0;
}

void for_each_number(const char *path, bool (*found)(long number, void *context), void *context)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	char chunk[CHUNK_BYTES];
	long length;
	bool goes_on = true;
	while (goes_on && (length = syscall(SYS_getdents64, directory, chunk, sizeof chunk)) > 0)
		for (long at = 0; goes_on && at < length;) {
			uint16_t entry;
			memcpy(&entry, chunk + at + LENGTH_AT, sizeof entry);
			long number = number_of(chunk + at + NAME_AT);
			if (number > 0)
				goes_on = found(number, context);
			at += entry;
		}
	close(directory);
}
