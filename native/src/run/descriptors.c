#include "descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More than nearly every limit; a program with more has a kernel that closes ranges. */
enum { MOST_CLOSED = 65536 };

int above_standard(int descriptor)
{
	if (descriptor < 0 || descriptor > STDERR_FILENO)
		return descriptor;
	int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(descriptor);
	return moved;
}

static void close_all(unsigned int first, unsigned int last)
{
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	/* Before Linux 5.9, or below an old filter of system calls. */
	for (unsigned int descriptor = first; descriptor <= last && descriptor < MOST_CLOSED; descriptor++)
		close((int)descriptor);
}

static void sort(int numbers[], int count)
{
	for (int i = 1; i < count; i++)
		for (int j = i; j > 0 && numbers[j] < numbers[j - 1]; j--) {
			int higher = numbers[j - 1];
			numbers[j - 1] = numbers[j];
			numbers[j] = higher;
		}
}

void keep_only(int kept[], int count, int keeps_errors)
{
	unsigned int first = STDERR_FILENO + 1;
	sort(kept, count);
	for (int i = 0; i < count; i++) {
		if (kept[i] < (int)first)
			continue;
		close_all(first, (unsigned int)kept[i] - 1);
		first = (unsigned int)kept[i] + 1;
	}
	close_all(first, UINT_MAX);
	int nothing = above_standard(open("/dev/null", O_RDWR | O_CLOEXEC));
	for (int standard = STDIN_FILENO; standard <= STDERR_FILENO - (keeps_errors != 0); standard++)
		if (nothing < 0 || dup2(nothing, standard) < 0)
			close(standard);
	close(nothing);
}
