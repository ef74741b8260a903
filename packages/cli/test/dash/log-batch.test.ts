import type { LogLine } from "@snakepit/control";
import { expect, test } from "vitest";
import {
	BATCH_LINES,
	LINE_CHARACTERS,
	LogBatch,
} from "../../src/dash/run-routes.ts";

const line = (text: string): LogLine => ({
	...{ wallMs: 1, pool: "p", workerId: "p-0", incarnation: "abcdefg-1" },
	...{ callId: null, from: "stdout", level: null, logger: null, cut: false },
	text,
});

test("the page gets the latest lines, and the number of those that were too many", () => {
	const batch = new LogBatch();
	expect(batch.take()).toBeUndefined();
	const all = 5 * BATCH_LINES + 7;
	for (let number = 0; number < all; number++) batch.add(line(`${number}`));
	batch.lost(3);
	const record = batch.take();
	expect(record?.lines).toHaveLength(BATCH_LINES);
	expect(record?.lines.at(-1)?.text).toBe(`${all - 1}`);
	expect(record?.leftOut).toBe(all - BATCH_LINES + 3);
	expect(batch.take()).toBeUndefined();
});

test("a long line is cut, and says how much is missing", () => {
	const batch = new LogBatch();
	batch.add(line("x".repeat(LINE_CHARACTERS + 10)));
	expect(batch.take()?.lines[0]).toMatchObject({
		text: "x".repeat(LINE_CHARACTERS),
		missing: 10,
	});
});
