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
		...({ workerId, incarnation: "a-1", stream: "stderr", line } as const),
		...{ cut: false, callId: undefined },
	};
}

function backlog() {
	let sequence = 0;
	const log = new LogBacklog(() => sequence++);
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
	for (let n = 0; n < BACKLOG_LINES + 5; n++)
		log.note(printed("demo-0", `${n}`));
	expect(texts("demo-1")).toEqual(["quiet"]);
	expect(texts("demo-0")).toHaveLength(BACKLOG_LINES);
	expect(texts("demo-0").at(0)).toBe("5");
	expect(texts("demo-0").at(-1)).toBe(`${BACKLOG_LINES + 4}`);
	expect(log.dropped()).toEqual([["demo-0", 5]]);
});

test("long lines make room for others, and none is kept in full that is too long", () => {
	const { log, texts } = backlog();
	const long = "x".repeat(10_000);
	for (let n = 0; n < 100; n++) log.note(printed("demo-0", `${n}${long}`));
	const kept = texts("demo-0");
	const characters = kept.reduce((sum, { length }) => sum + length, 0);
	expect(characters).toBeLessThanOrEqual(BACKLOG_CHARACTERS);
	expect(characters).toBeGreaterThan(BACKLOG_CHARACTERS - 11_000);
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
