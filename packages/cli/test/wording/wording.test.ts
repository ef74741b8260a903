import { expect, test } from "vitest";
import {
	bytes,
	duration,
	plainStart,
	rate,
} from "../../src/wording/figures.ts";
import { incidentOf } from "../../src/wording/incidents.ts";

test.each([
	[-3_600_000, "0 ms"],
	[0, "0 ms"],
	[0.123, "0.12 ms"],
	[1.234, "1.2 ms"],
	[999.4, "999 ms"],
	[59_949, "59.9 s"],
	[60_000, "1 min 0 s"],
	[3_600_000, "1 h 0 min"],
	[90_000_000, "1 d 1 h"],
])("%s ms is %s", (ms, text) => {
	expect(duration(ms)).toBe(text);
});

test.each([
	[999, "999 B"],
	[20_480, "20 kB"],
	[1_500_000, "1.5 MB"],
	[150_000_000, "150 MB"],
	[2_340_000_000, "2.34 GB"],
])("%s bytes are %s", (count, text) => {
	expect(bytes(count)).toBe(text);
});

test.each([
	[0, "0"],
	[0.25, "0.3"],
	[12_345.6, "12,346"],
])("%s a second is %s", (perSecond, text) => {
	expect(rate(perSecond)).toBe(text);
});

test("a long text is cut, and says how much is missing", () => {
	expect(plainStart("abcdef", 6)).toBe("abcdef");
	expect(plainStart("x".repeat(5_000), 3)).toBe(
		"xxx … (4,997 more characters)",
	);
});

test.each([
	["Worker a-0 could not start: no model", "a-0 could not start: no model"],
	["no interpreter", "a-0 could not be started: no interpreter"],
])("a start that failed with %j names the worker once", (message, text) => {
	const event = {
		...{ type: "worker.start_failed", wallMs: 1, workerId: "a-0" },
		error: { message },
	} as unknown as Parameters<typeof incidentOf>[0];
	expect(incidentOf(event, 1)).toMatchObject({ text, tone: "bad" });
});
