#include <string.h>

#include "complain.h"
#include "exit-status.h"
#include "guard/guard.h"
#include "launch.h"

int main(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "lifeline") == 0)
		return launch(argc - 2, argv + 2);
	if (argc >= 2 && strcmp(argv[1], "guard") == 0)
		return guard_main(argc - 2, argv + 2);
	complain("usage: snakepit-native lifeline|guard ...", NULL, 0);
	return WRONG_USAGE;
}
