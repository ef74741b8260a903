import { expect, test } from "vitest";
import { RelayedSegments } from "../../src/shared-memory/relayed-segments.ts";
import { Segments } from "../../src/shared-memory/segments.ts";
import { SharedMemory } from "../../src/shared-memory/shared-memory.ts";

const LIMITS = { fromBytes: 100, limitBytes: 1000 };

/** What the host sends to the relay, as text. */
function relay(): {
	readonly store: RelayedSegments;
	readonly told: readonly string[];
} {
	const store = new RelayedSegments();
	const told: string[] = [];
	store.attach({
		send: (name, parts, size) => {
			told.push(`${name} = ${parts.length} part, ${size} bytes`);
		},
		shortened: (name, bytes) => told.push(`${name} to ${bytes}`),
		closed: (name) => told.push(`${name} closed`),
	});
	return { store, told };
}

test("arguments are sent, and their file is used for a result and for the next arguments", () => {
	const { store, told } = relay();
	const memory = new SharedMemory(LIMITS, store, () => () => {});
	const encode = (bytes: number) =>
		memory.encodeArguments(
			...(["echo", [new Uint8Array(bytes)], 1000] as const),
			undefined,
			"result",
		);
	const { encoded, memory: call } = encode(200);
	expect(encoded.attachment).toEqual({ name: "h1", size: 200, offset: 0 });
	const bytes = new Uint8Array(150).fill(7);
	store.arrived("h1", 0, bytes);
	// Nothing is copied.
	expect(call?.result({ name: "h1", size: 150, offset: 0 }, true)).toBe(bytes);
	call?.close(true);
	expect(encode(120).encoded.attachment?.name).toBe("h1");
	expect(told).toEqual(["h1 = 1 part, 200 bytes", "h1 = 1 part, 120 bytes"]);
});

test("a file that a tool has kept is closed on the node, and one too many is emptied", () => {
	const { store, told } = relay();
	const segments = new Segments(
		store,
		{ count: 1, bytes: 1000, ms: 5000 },
		() => () => {},
	);
	segments.take(100).close();
	const [first, second] = [segments.take(100), segments.take(100)];
	segments.giveBack(first);
	segments.giveBack(second);
	expect(told).toEqual(["h1 closed", "h2 to 0", "h2 closed"]);
	expect(segments.gone).toEqual(["h2"]);
});

test.each([
	["w2", 0, 150, "which did not arrive"],
	["w1", 64, 150, "which did not arrive"],
	["w1", 0, 151, "of 150 bytes where 151 were announced"],
])(
	"%s at %i with %i bytes is not what has arrived",
	(name, offset, size, problem) => {
		const { store } = relay();
		const segment = store.make(name);
		store.arrived("w1", 0, new Uint8Array(150));
		expect(() => segment.read(size, offset)).toThrow(problem);
		// Nor is it kept.
		expect(() => store.received("w1")).toThrow("which did not arrive");
	},
);

test("what nobody reads is forgotten here and on the node", () => {
	const { store, told } = relay();
	store.arrived("w1", 0, new Uint8Array(150));
	store.discard("w1");
	expect(told).toEqual(["w1 closed"]);
	expect(() => store.received("w1")).toThrow("which did not arrive");
});
