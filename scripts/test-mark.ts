/** Names the run of tests: every process that a test starts inherits it. */
export const TEST_RUN = "SNAKEPIT_TEST_RUN";

/** Names the test, where vitest runs it: its file, and the title of the one that began last. */
export const TEST = "SNAKEPIT_TEST";

/** Names the test, where pytest runs it. */
export const PYTHON_TEST = "PYTEST_CURRENT_TEST";

/** Names the file that has the tests which are running, for one line each. */
export const RUNNING_TESTS = "SNAKEPIT_RUNNING_TESTS";

/** Names the file that has the number of failures that leftovers count for, if there were some. */
export const LEFTOVERS = "SNAKEPIT_TEST_LEFTOVERS";

const VARIABLES: readonly string[] = [TEST_RUN, TEST];

/**
 * What a test adds to the environment of a process that shall have nothing else of
 * its own: without it nobody knows whose the process is, should it be left behind.
 */
export function testMark(): Record<string, string> {
	return Object.fromEntries(
		VARIABLES.flatMap((name) => {
			const value = process.env[name];
			return value === undefined ? [] : [[name, value]];
		}),
	);
}
