#include <string.h>

#include "exit-status.h"
#include "guard/guard.h"
#include "lifeline.h"
#include "report-error.h"
#include "run/run.h"

int main(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "lifeline") == 0)
		return launch(argc - 2, argv + 2);
	if (argc >= 2 && strcmp(argv[1], "guard") == 0)
		return guard_main(argc - 2, argv + 2);
	if (argc >= 2 && strcmp(argv[1], "run") == 0)
		return run(argc - 2, argv + 2);
	report_error("usage: snakepit-native lifeline|guard|run ...", NULL, 0);
	return WRONG_USAGE;
}
