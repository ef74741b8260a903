import { expect, test } from "vitest";
import {
	fragmentOf,
	routeOf,
	traceLink,
} from "../../../web/model/addresses.ts";
import {
	NO_LINES,
	rowsInSight,
	withLines,
	withText,
} from "../../../web/model/log-lines.ts";

const ID = "0af7651916cd43dd8448eb211c80319c";

test("a trace has the address of the viewer's template", () => {
	expect(traceLink("http://localhost:16686/trace/{traceId}", ID)).toBe(
		`http://localhost:16686/trace/${ID}`,
	);
});

test.each([
	["javascript:alert('{traceId}')", ID],
	["http://localhost/trace", ID],
	["{traceId}", ID],
	["http://localhost/{traceId}", "x' onclick='y"],
])("%s with %s is no address", (template, traceId) => {
	expect(traceLink(template, traceId)).toBeUndefined();
});

test("a view and what is chosen in it are in the page's address", () => {
	const fragment = fragmentOf("logs", { worker: "a b&c", call: undefined });
	expect(routeOf(fragment)).toEqual({
		view: "logs",
		query: { worker: "a b&c" },
	});
	expect(routeOf("#/unknown")).toEqual({ view: "workers", query: {} });
	expect(routeOf("")).toEqual({ view: "workers", query: {} });
});

test("the page keeps the latest 5,000 lines, and counts all", () => {
	const lines = Array.from({ length: 3_000 }, (_, n) => ({
		text: `Line ${n}`,
	}));
	const batch = { lines, leftOut: 5 } as unknown as Parameters<
		typeof withLines
	>[1];
	const first = withLines(NO_LINES, batch);
	const all = withLines(first, batch);
	expect(all).toMatchObject({ received: 6_000, leftOut: 10 });
	expect(all.lines).toHaveLength(5_000);
	expect(all.lines.map(({ number }) => number).slice(0, 2)).toEqual([
		1_000, 1_001,
	]);
	expect(withText(all.lines, "line 2999")).toHaveLength(2);
	expect(withText(all.lines, "")).toBe(all.lines);
});

test("only rows in sight are in the page, and a few around them", () => {
	expect(rowsInSight(5_000, 20, 2_000, 400)).toEqual({ first: 95, end: 125 });
	expect(rowsInSight(3, 20, 0, 400)).toEqual({ first: 0, end: 3 });
});
