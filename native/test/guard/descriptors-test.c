/* Only the descriptors that are named stay open, and none of them takes the place of a standard one. */
#include "../../src/guard/own-process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"

static bool is_open(int descriptor)
{
	return fcntl(descriptor, F_GETFD) >= 0;
}

static bool is_null(int descriptor)
{
	struct stat this;
	struct stat null;
	CHECK(fstat(descriptor, &this) == 0 && stat("/dev/null", &null) == 0);
	return this.st_rdev == null.st_rdev;
}

static void a_new_descriptor_is_above_the_standard_ones(void)
{
	int saved = dup(STDIN_FILENO);
	close(STDIN_FILENO);
	int moved = above_standard(open("/", O_RDONLY | O_CLOEXEC));
	CHECK(moved > STDERR_FILENO && !is_open(STDIN_FILENO));
	CHECK((fcntl(moved, F_GETFD) & FD_CLOEXEC) != 0);
	CHECK(above_standard(moved) == moved && above_standard(-1) == -1);
	CHECK(dup2(saved, STDIN_FILENO) == STDIN_FILENO);
	close(saved);
	close(moved);
}

static void others_are_closed(void)
{
	int kept[] = {40, -1, 3, 300, 3};
	for (int descriptor = 3; descriptor < 310; descriptor++)
		CHECK(dup2(STDERR_FILENO, descriptor) == descriptor);
	keep_only(kept, sizeof kept / sizeof *kept, 1);
	for (int descriptor = 3; descriptor < 310; descriptor++)
		CHECK(is_open(descriptor) == (descriptor == 3 || descriptor == 40 || descriptor == 300));
	CHECK(is_null(STDIN_FILENO) && is_null(STDOUT_FILENO));
}

int main(void)
{
	a_new_descriptor_is_above_the_standard_ones();
	others_are_closed();
	return 0;
}
