import type { ErrorCode } from "@snakepit/core";
import { CALL_ERRORS } from "./call-errors.ts";
import type { Entry } from "./error-entry.ts";
import { page, table } from "./page.ts";
import { START_ERRORS } from "./start-errors.ts";

/** Every code; one that is missing here does not compile. */
const ERRORS: Readonly<Record<ErrorCode, Entry>> = {
	...START_ERRORS,
	...CALL_ERRORS,
};

/** docs/reference/errors.md */
export function errorsReference(): string {
	return page(
		"Errors",
		'Every error is a `SnakepitError` with a stable `code`. `ran` says whether the work may have begun: after `"no"` a retry is safe, after `"maybe"` only if the work is idempotent. A call that waits to be made again (`idempotentRetries`) is told `"maybe"`, also where the table says "no": a start error, for one.',
		table(
			["code", "class", "ran", "meaning", "what to do"],
			Object.entries(ERRORS).map(([code, { thrown, ran, meaning, remedy }]) => [
				`\`${code}\``,
				thrown,
				ran,
				meaning,
				remedy,
			]),
		),
	);
}
