import { expect, test } from "vitest";
import type { PageLogLine } from "../../../src/dash/run-routes.ts";
import {
	carriedLines,
	NO_LINES,
	withLines,
} from "../../../web/model/log-lines.ts";

const line = (
	workerId: string,
	callId: string | null,
	text: string,
): PageLogLine => ({
	...{
		wallMs: 1,
		pool: workerId.slice(0, 1),
		workerId,
		incarnation: "abcdefg-1",
		callId,
	},
	...{ from: "stdout", level: null, logger: null, cut: false, missing: 0 },
	text,
});

const shown = withLines(NO_LINES, {
	lines: [
		line("p-0", "c1", "a"),
		line("p-1", "c2", "b"),
		line("p-0", null, "c"),
		// Another pool has a call of the same name.
		line("q-0", "c1", "d"),
	],
	leftOut: 4,
});

test.each([
	["", "", "", ["a", "b", "c", "d"]],
	["p-0", "", "", ["a", "c"]],
	["p-0", "c1", "", ["a"]],
	["p-1", "c1", "", []],
	["", "c1", "p", ["a"]],
])(
	"of worker %j, call %j and pool %j what fits stays, and that there is a gap is said",
	(worker, call, pool, texts) => {
		const carried = carriedLines(shown, { worker, call, pool });
		expect(carried.lines.map(({ text }) => text)).toEqual(texts);
		expect(carried).toMatchObject({
			...{ received: texts.length, leftOut: 0, hasGap: texts.length > 0 },
		});
		const { lines, hasGap } = withLines(carried, {
			lines: [line("p-0", "c1", "d")],
			leftOut: 0,
		});
		expect(lines.map(({ number }) => number)).toEqual(lines.map((_, at) => at));
		expect(hasGap).toBe(carried.hasGap);
	},
);
