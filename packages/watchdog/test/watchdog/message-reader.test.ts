import fc from "fast-check";
import { expect, test } from "vitest";
import {
	formatMessage,
	type HostMessage,
	MESSAGE_LIMIT_BYTES,
	MessageReader,
} from "../../src/watchdog/message.ts";

const runId = "k3x9a2p" as HostMessage["runId"];
const identity = {
	machineId: "m",
	bootId: "b",
	pidNamespace: "4026531836",
	pid: 4711,
	startTime: "987654",
};
const MESSAGES: readonly HostMessage[] = [
	{
		type: "run",
		runId,
		owner: { ...identity, pid: 1 },
		marker: "k3x9a2p:b:4026531836:1:987654",
		dataDir: "/data",
		runDirectory: "/run/snakepit-ü",
		graceMs: 0,
		checkIntervalMs: 1000,
	},
	{ type: "watch", runId, incarnation: "k3x9a2p-1", identity, groupId: 4711 },
	{ type: "unwatch", runId, incarnation: "k3x9a2p-1" },
	{ type: "farewell", runId },
];

test("messages are read back however the pipe cuts them", () => {
	const bytes = Buffer.from(MESSAGES.map(formatMessage).join(""));
	fc.assert(
		fc.property(
			fc.array(fc.nat(bytes.length), { maxLength: 20 }),
			(positions) => {
				const cuts = [0, ...positions.sort((a, b) => a - b), bytes.length];
				const reader = new MessageReader();
				const read = cuts.flatMap((from, index) =>
					reader.push(bytes.subarray(from, cuts[index + 1] ?? bytes.length)),
				);
				expect(read).toEqual(MESSAGES);
			},
		),
	);
});

test("a message that was cut off by the end is none", () => {
	const [, watch] = MESSAGES.map(formatMessage);
	expect(
		new MessageReader().push(Buffer.from(`${watch}`.slice(0, -1))),
	).toEqual([]);
});

const [run, watch] = MESSAGES as readonly [object, object];
test.each<[string, string]>([
	["nothing", ""],
	["no JSON", "{"],
	["no object", "7"],
	["null", "null"],
	["another kind", JSON.stringify({ ...watch, type: "kill" })],
	["no kind", JSON.stringify({ runId })],
	["no run id", JSON.stringify({ ...watch, runId: "../../x" })],
	["everybody's group", JSON.stringify({ ...watch, groupId: -1 })],
	["group 1", JSON.stringify({ ...watch, groupId: 1 })],
	["group 0", JSON.stringify({ ...watch, groupId: 0 })],
	["half a group", JSON.stringify({ ...watch, groupId: 7.5 })],
	["no process", JSON.stringify({ ...watch, identity: null })],
	[
		"a negative pid",
		JSON.stringify({ ...watch, identity: { ...identity, pid: -7 } }),
	],
	[
		"a pid as text",
		JSON.stringify({ ...watch, identity: { ...identity, pid: "7" } }),
	],
	[
		"no start time",
		JSON.stringify({ ...watch, identity: { ...identity, startTime: "" } }),
	],
	["no incarnation", JSON.stringify({ type: "unwatch", runId })],
	["a relative path", JSON.stringify({ ...run, runDirectory: "tmp" })],
	["a long path", JSON.stringify({ ...run, dataDir: `/${"x".repeat(5000)}` })],
	["a grace without end", JSON.stringify({ ...run, graceMs: 1e300 })],
	["a negative interval", JSON.stringify({ ...run, checkIntervalMs: -1 })],
	["no marker", JSON.stringify({ ...run, marker: "" })],
	["no owner", JSON.stringify({ ...run, owner: undefined })],
	["a line without end", "x".repeat(3 * MESSAGE_LIMIT_BYTES)],
])("%s is left out, and what follows is read", (_, line) => {
	const reader = new MessageReader();
	const bytes = Buffer.from(
		`${line}\n${formatMessage(MESSAGES[3] as HostMessage)}`,
	);
	const read = [];
	for (let at = 0; at < bytes.length; at += 50_000)
		read.push(...reader.push(bytes.subarray(at, at + 50_000)));
	expect(read).toEqual([MESSAGES[3]]);
});

test("noise never throws", () => {
	fc.assert(
		fc.property(fc.array(fc.uint8Array({ maxLength: 200 })), (chunks) => {
			const reader = new MessageReader();
			for (const chunk of chunks) reader.push(Buffer.from(chunk));
		}),
	);
});
