/** Set by `npx pnpm@12 check`: tests that repeat something at random do it in full. */
export const THOROUGH = "SNAKEPIT_TEST_THOROUGH";

/** How often a test repeats something at random: `all` in `check`, `few` in `test`, which has to be fast. */
export function rounds(all: number, few: number): number {
	return process.env[THOROUGH] === "1" ? all : few;
}
