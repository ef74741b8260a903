import { expect, test } from "vitest";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import {
	BACKLOG_CHARACTERS,
	BACKLOG_LINES,
	LogBacklog,
} from "../../src/pool/observe/log-backlog.ts";

function printed(workerId: string, line: string): SnakepitEvent {
	return {
		...({ type: "worker.output", wallMs: 1, pool: "demo" } as const),
		...({
			workerId,
			incarnation: `a-${workerId}`,
			stream: "stderr",
			line,
		} as const),
		...{ cut: false, callId: undefined },
	};
}

function backlog() {
	const log = new LogBacklog();
	const texts = (workerId: string) =>
		log
			.lines()
			.flatMap(({ event }) =>
				event.type === "worker.output" && event.workerId === workerId
					? event.line
					: [],
			);
	return { log, texts };
}

test("the last lines of each worker are kept, and how many are not is known", () => {
	const { log, texts } = backlog();
	log.note(printed("demo-1", "quiet"));
	const lines = 3 * BACKLOG_LINES + 5;
	for (let n = 0; n < lines; n++) log.note(printed("demo-0", `${n}`));
	expect(texts("demo-1")).toEqual(["quiet"]);
	const kept = texts("demo-0");
	expect(kept.length).toBeLessThanOrEqual(BACKLOG_LINES);
	expect(kept.length).toBeGreaterThan(0.9 * BACKLOG_LINES);
	expect(kept).toEqual(
		kept.map((_, index) => `${lines - kept.length + index}`),
	);
	expect(log.dropped()).toEqual([["demo-0", lines - kept.length]]);
});

test("long lines make room for others, and none is kept in full that is too long", () => {
	const { log, texts } = backlog();
	const long = "x".repeat(10_000);
	for (let n = 0; n < 100; n++) log.note(printed("demo-0", `${n}${long}`));
	const kept = texts("demo-0");
	const characters = kept.reduce((sum, { length }) => sum + length, 0);
	expect(characters).toBeLessThanOrEqual(BACKLOG_CHARACTERS);
	expect(characters).toBeGreaterThan(0.8 * BACKLOG_CHARACTERS);
	expect(kept.at(-1)).toBe(`99${long}`);
	log.note({
		...({ type: "worker.logged", wallMs: 1, pool: "demo" } as const),
		...{ workerId: "demo-1", incarnation: "a-1" },
		record: {
			...{ level: "error", logger: "root", wallMs: 1, fields: {} },
			...{ message: "m", traceback: "t".repeat(1_000_000) },
		} as never,
	});
	const [record] = log
		.lines()
		.filter(({ event }) => event.workerId === "demo-1");
	expect(JSON.stringify(record).length).toBeLessThan(20_000);
});
