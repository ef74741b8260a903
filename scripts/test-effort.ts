/** Set by `npx pnpm@12 check`: tests run in full. */
export const THOROUGH = "SNAKEPIT_TEST_THOROUGH";

/** Whether tests run in full, as in `check`, or as many as `test` has time for. */
export function isThorough(): boolean {
	return process.env[THOROUGH] === "1";
}

/** A run of vitest that takes longer hangs. On two cores it takes 7 minutes, and much longer in full. */
export function longestRunMs(): number {
	return (isThorough() ? 180 : 30) * 60_000;
}

/** How often a test repeats something at random: `all` in `check`, `few` in `test`. */
export function rounds(all: number, few: number): number {
	return isThorough() ? all : few;
}

/** The rows of a table of tests: `all` in `check`, those that stand for the others in `test`. */
export function rows<const Row>(
	all: readonly Row[],
	isFirst: (row: Row, index: number) => boolean,
): readonly Row[] {
	return isThorough() ? all : all.filter(isFirst);
}
