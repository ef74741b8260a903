import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { namedBy } from "../src/listening.ts";
import { reachable } from "../src/port-owner.ts";
import { type BodyKind, itemsOf, kindOf } from "../src/response.ts";

/** A text in pieces, which divide characters and line ends, too. */
async function* divided(
	text: string,
	cuts: readonly number[],
): AsyncGenerator<Uint8Array> {
	const bytes = Buffer.from(text);
	let from = 0;
	for (const cut of cuts) {
		yield bytes.subarray(from, from + cut);
		from += cut;
	}
	yield bytes.subarray(from);
}

const read = (text: string, kind: BodyKind, cuts: readonly number[] = []) =>
	Array.fromAsync(itemsOf(divided(text, cuts), kind, 1_000));

describe("a stream of items", () => {
	const cuts = fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 60 });

	test("has the same lines however it is divided", async () => {
		const value = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.string());
		await fc.assert(
			fc.asyncProperty(
				fc.array(value, { maxLength: 5 }),
				fc.constantFrom("\n", "\r\n", "\n\n"),
				cuts,
				async (values, end, where) => {
					const lines = values.map((each) => JSON.stringify(each) + end);
					expect(await read(lines.join(""), "ndjson", where)).toEqual(
						JSON.parse(JSON.stringify(values)),
					);
				},
			),
		);
	});

	test("has the same events however it is divided, and with each kind of line end", async () => {
		const word = fc.stringMatching(/^[a-zü ]*$/);
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.array(word, { minLength: 1, maxLength: 3 }), {
					maxLength: 4,
				}),
				fc.constantFrom("\n", "\r\n", "\r"),
				cuts,
				async (events, end, where) => {
					const text = events
						.map((lines) => lines.map((line) => `data: ${line}${end}`).join(""))
						.join(end);
					expect(await read(text + end, "sse", where)).toEqual(
						events.map((lines) => ({
							...{ event: "message", data: lines.join("\n"), id: "" },
						})),
					);
				},
			),
		);
	});

	test("follows the rules for fields of events", async () => {
		const text =
			"\u{FEFF}event: a\nevent\ndata:no space\nunknown: x\nid: 1\n\ndata\nid: has\0null\n\nevent: lost\n\ndata: cut off";
		expect(await read(text, "sse")).toEqual([
			{ event: "message", data: "no space", id: "1" },
			{ event: "message", data: "", id: "1" },
		]);
	});

	test.each(["ndjson", "sse"] as const)(
		"of %s refuses a longer item than it may have",
		async (kind) => {
			const text = `data: ${"x".repeat(600)}\ndata: ${"x".repeat(600)}\n\n`;
			const long = kind === "sse" ? text : `"${"x".repeat(1_200)}`;
			await expect(read(long, kind)).rejects.toMatchObject({
				code: "RESULT_TOO_LARGE",
			});
		},
	);
});

test.each([
	["application/json; charset=utf-8", "json"],
	["application/problem+json", "json"],
	["application/x-ndjson", "ndjson"],
	["application/jsonl", "ndjson"],
	["Text/Event-Stream", "sse"],
	["text/html", "text"],
	["image/png", "bytes"],
	[undefined, "bytes"],
] as const)("a response of type %s is read as %s", (type, kind) => {
	expect(kindOf(type)).toBe(kind);
});

describe("the kernel's list of sockets", () => {
	const row = (address: string, state: string, inode: string) =>
		`   0: ${address} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0000000000000000 100 0 0 10 0`;
	const text = [
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
		row("0100007F:1F90", "0A", "11"),
		row("0100007F:1F91", "0A", "12"),
		row("0100007F:1F90", "01", "13"),
		row("00000000:1F90", "0A", "14"),
		row("0200000A:1F90", "0A", "15"),
		row("00000000000000000000000000000000:1F90", "0A", "16"),
		row("00000000000000000000000001000000:1F90", "0A", "17"),
		row("0000000000000000FFFF00000100007F:1F90", "0A", "18"),
		"",
	].join("\n");
	const inodes = (host: "127.0.0.1" | "::1") =>
		reachable(text, host, 8080, "LE").map(({ inode }) => inode);

	test("has those that a connection can reach", () => {
		expect(inodes("127.0.0.1")).toEqual(["11", "14", "16", "18"]);
		expect(inodes("::1")).toEqual(["16", "17"]);
		const big = row("7F000001:1F90", "0A", "19");
		expect(reachable(big, "127.0.0.1", 8080, "BE")).toMatchObject([
			{ inode: "19" },
		]);
	});
});

test.each([
	["at http://127.0.0.1:8000/", "127.0.0.1", 8000],
	["at http://localhost:8000", "127.0.0.1", 8000],
	["at http://0.0.0.0:8000", "127.0.0.1", 8000],
	["at http://[::1]:8000", "::1", 8000],
	["at http://[::]:8000", "::1", 8000],
] as const)("the line %j names %s", (line, host, port) => {
	const match = /at (?<url>\S+)/.exec(line) as RegExpExecArray;
	expect(namedBy(match)).toEqual({ kind: "tcp", host, port });
});

test.each([
	"at https://127.0.0.1:8000",
	"at http://192.0.2.1:8000",
	"at http://example.com",
	"at nowhere",
])("the line %j names no address of this machine", (line) => {
	const match = /at (?<url>\S+)/.exec(line) as RegExpExecArray;
	expect(() => namedBy(match)).toThrow("not an http address of this machine");
});
