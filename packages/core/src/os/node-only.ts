// A process that is started as Node must be Node. The executable of a program may be the program itself (a single
// executable application): started again, it would run the program, which would start itself again, without end.

/** In the environment of what is started as Node: the file that it may run, and nothing else. */
export const NODE_ONLY_VARIABLE = "SNAKEPIT_NODE_ONLY";
/** With this status a copy of the program ends immediately. */
export const NOT_NODE_STATUS = 87;

/**
 * Ends this process if it was started as Node, to run one file, and runs this program instead. It is called where the
 * package is imported, before the program does anything with it.
 */
export function endIfCopy({
	env,
	argv,
	exit,
}: Pick<typeof process, "env" | "argv" | "exit"> = process): void {
	const file = env[NODE_ONLY_VARIABLE];
	if (file !== undefined && file !== argv[1]) exit(NOT_NODE_STATUS);
}
