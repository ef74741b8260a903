import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const program = fileURLToPath(
	new URL("../src/calls-of-one-execute.ts", import.meta.url),
);
const python = fileURLToPath(
	new URL("../../python/.venv/bin/python", import.meta.url),
);

/**
 * Four of them begin and end the two transitions of a call (`outbox.ts`), one ends its asynchronous context, two keep calls
 * away from a worker that is suspected to be stuck, and two are calls of a list of our own (`arrival-list.ts`), where a
 * built-in one, which is not counted, kept garbage. Two are what V8 counts for the fields of a class. Lower these with what
 * the way of a call loses; what raises them needs a reason.
 */
test.each([
	{ transport: "grpc", files: 30, functions: 84, calls: 103 },
	{ transport: "framed", files: 31, functions: 82, calls: 101 },
])(
	"one execute over $transport makes at most $calls calls of our functions in the host",
	async ({ transport, ...most }) => {
		const { stdout } = await promisify(execFile)(
			process.execPath,
			[
				"--conditions=snakepit-source",
				program,
				...["--python", python, "--transport", transport],
			],
			{ timeout: 60_000 },
		);
		const counted = JSON.parse(stdout);
		expect(counted.calls).toBeGreaterThan(0);
		for (const [what, limit] of Object.entries(most))
			expect(counted[what], what).toBeLessThanOrEqual(limit);
	},
	90_000,
);
