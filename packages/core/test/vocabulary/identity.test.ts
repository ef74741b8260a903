import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Random } from "../../src/contract/clock.ts";
import {
	compareIdentity,
	formatMarker,
	type GroupVerdict,
	generatedAt,
	generateRunId,
	isRunId,
	isSameProcess,
	judgeGroup,
	type Marker,
	markerOf,
	type Observation,
	type ProcessIdentity,
	parseMarker,
	type RunId,
} from "../../src/contract/identity.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";

const self: ProcessIdentity = {
	machineId: "m",
	bootId: "b",
	pidNamespace: "n",
	pid: 1,
	startTime: "10",
};
const recorded: ProcessIdentity = { ...self, pid: 42, startTime: "99" };

const few = (...texts: string[]) => fc.constantFrom(...texts);
const identity: fc.Arbitrary<ProcessIdentity> = fc.record({
	machineId: few("m", "m2"),
	bootId: few("b", "b2"),
	pidNamespace: few("n", "n2"),
	pid: fc.constantFrom(1, 42),
	startTime: few("10", "99"),
});
const observation: fc.Arbitrary<Observation> = fc.oneof(
	identity,
	fc.constant("gone" as const),
	fc.constant("unknown" as const),
);

describe("comparing a record with what is seen", () => {
	test("the same pid with the same start time is the same process", () => {
		expect(compareIdentity(recorded, self, recorded)).toBe("same");
	});

	test("the same pid with another start time is a foreign process: the worker is gone", () => {
		expect(
			compareIdentity(recorded, self, { ...recorded, startTime: "100" }),
		).toBe("gone");
	});

	test("a free pid means gone, an unreadable one unknown", () => {
		expect(compareIdentity(recorded, self, "gone")).toBe("gone");
		expect(compareIdentity(recorded, self, "unknown")).toBe("unknown");
	});

	test("after a restart of the machine every process of the old boot is gone, whatever is seen at its pid", () => {
		fc.assert(
			fc.property(observation, (seen) => {
				expect(
					compareIdentity({ ...recorded, bootId: "earlier" }, self, seen),
				).toBe("gone");
			}),
		);
	});

	test("a record of another machine is unknown even when the pid is free here", () => {
		fc.assert(
			fc.property(observation, few("b", "earlier"), (seen, bootId) => {
				expect(
					compareIdentity(
						{ ...recorded, machineId: "elsewhere", bootId },
						self,
						seen,
					),
				).toBe("unknown");
			}),
		);
	});

	test("a record of another pid namespace is unknown even when the pid is free here", () => {
		fc.assert(
			fc.property(observation, (seen) => {
				expect(
					compareIdentity(
						{ ...recorded, pidNamespace: "container" },
						self,
						seen,
					),
				).toBe("unknown");
			}),
		);
	});

	test("never kill a foreign process: it is the same process only if every field is equal", () => {
		fc.assert(
			fc.property(identity, identity, observation, (record, looker, seen) => {
				if (compareIdentity(record, looker, seen) !== "same") return;
				expect(seen).toMatchObject({
					pid: record.pid,
					startTime: record.startTime,
				});
				expect([looker.machineId, looker.bootId, looker.pidNamespace]).toEqual([
					record.machineId,
					record.bootId,
					record.pidNamespace,
				]);
			}),
		);
	});
});

describe("two identities", () => {
	test("name the same process exactly when all five fields are equal", () => {
		fc.assert(
			fc.property(identity, identity, (a, b) => {
				const equal = (Object.keys(a) as (keyof ProcessIdentity)[]).every(
					(field) => a[field] === b[field],
				);
				expect(isSameProcess(a, b)).toBe(equal);
				expect(isSameProcess(a, { ...a })).toBe(true);
			}),
		);
	});
});

function process_(pid: number, startTime = "1"): { identity: ProcessIdentity } {
	const base = { machineId: "m", bootId: "b", pidNamespace: "n" };
	return { identity: { ...base, pid, startTime } };
}

const LEADER = process_(10).identity;
const nothing = (): boolean => false;
const everything = (): boolean => true;

function whose(
	holders: readonly { identity: ProcessIdentity }[],
	isProven: () => boolean,
): GroupVerdict<never>["whose"] {
	return judgeGroup(LEADER, holders, isProven).whose;
}

test("a leader with its start time proves its group, dead or alive", () => {
	expect(judgeGroup(LEADER, [process_(11), process_(10)], nothing)).toEqual({
		whose: "ours",
		prover: process_(10),
	});
});

test("a leader with another start time disproves every member, whatever is known of them", () => {
	const holders = [process_(11), process_(10, "2")];
	expect(whose(holders, everything)).toBe("anothers");
});

test("without a leader one proven member proves all, and without one nothing is known", () => {
	const holders = [process_(11), process_(12)];
	expect(
		judgeGroup(LEADER, holders, ({ identity }) => identity.pid === 12),
	).toEqual({ whose: "ours", prover: process_(12) });
	expect(whose(holders, nothing)).toBe("unknown");
});

test("a number that no process holds has no owner", () => {
	expect(whose([], everything)).toBe("nobodys");
});

const id = fc.stringMatching(/^[0-9a-z]{7}$/) as fc.Arbitrary<RunId>;
/** Machine texts as systems write them: no colon, not empty. */
const systemText = fc.stringMatching(/^[0-9A-Za-z._-]{1,40}$/);
const marker: fc.Arbitrary<Marker> = fc.record({
	runId: id,
	directoryKey: systemText,
	bootId: systemText,
	pidNamespace: systemText,
	hostPid: fc.integer({ min: 1, max: 4_194_304 }),
	// `ps` prints "Mon Jan  1 00:00:00 2026": colons and spaces.
	hostStartTime: fc.oneof(
		fc.constant("Mon Jan  1 00:00:00 2026"),
		fc.string({ minLength: 1, unit: "grapheme" }),
	),
});

describe("the marker", () => {
	test("is read back as it was written", () => {
		fc.assert(
			fc.property(marker, (written) => {
				expect(parseMarker(formatMarker(written))).toEqual(written);
			}),
		);
	});

	test("is one line of six fields that can stand in an environment", () => {
		fc.assert(
			fc.property(marker, (written) => {
				const text = formatMarker(written);
				expect(text).not.toContain("\0");
				expect(text.split(":")).toHaveLength(6);
			}),
		);
	});

	test("names the run, the host process and the data directory", () => {
		const host = {
			machineId: "m",
			bootId: "b",
			pidNamespace: "n",
			pid: 7,
			startTime: "1:2",
		};
		const text = formatMarker(markerOf("k3x9a2p" as RunId, host, "d"));
		expect(text).toBe("k3x9a2p:d:b:n:7:1%3A2");
		expect(parseMarker(text)).toEqual({
			runId: "k3x9a2p",
			directoryKey: "d",
			bootId: "b",
			pidNamespace: "n",
			hostPid: 7,
			hostStartTime: "1:2",
		});
	});

	test.each([
		"",
		"k3x9a2p",
		"k3x9a2p:d:b:n:7",
		"k3x9a2p:d:b:n:7:1:2",
		":d:b:n:7:1",
		"k3x9a2p:b:n:7:1",
		"k3x9a2p::b:n:7:1",
		"k3x9a2p:d::n:7:1",
		"k3x9a2p:d:b::7:1",
		"k3x9a2p:d:b:n::1",
		"k3x9a2p:d:b:n:7:",
		"K3X9A2P:d:b:n:7:1",
		"k3x9a2:d:b:n:7:1",
		"k3x9a2p:d:b:n:0:1",
		"k3x9a2p:d:b:n:-7:1",
		"k3x9a2p:d:b:n:07:1",
		"k3x9a2p:d:b:n:7.5:1",
		"k3x9a2p:d:b:n:1e3:1",
		"k3x9a2p:d:b:n:12345678901:1",
		"k3x9a2p:d:b:n:7:%E0%A4%A",
		" k3x9a2p:d:b:n:7:1",
	])("%j is not one", (text) => {
		expect(parseMarker(text)).toBeUndefined();
	});

	test("reading never throws, and what it accepts is well-formed", () => {
		fc.assert(
			fc.property(
				fc.oneof(
					fc.string({ unit: "binary" }),
					fc.array(fc.string()).map((fields) => fields.join(":")),
				),
				(text) => {
					const read = parseMarker(text);
					if (read === undefined) return;
					expect(read.runId).toMatch(/^[0-9a-z]{7}$/);
					expect(Number.isSafeInteger(read.hostPid) && read.hostPid > 0).toBe(
						true,
					);
				},
			),
		);
	});
});

const chance = (fraction: number): Random => ({
	fraction: () => fraction,
	token: () => "",
});
const wallMs = fc.integer({ min: 0, max: 8_640_000_000_000_000 });
const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** After so many milliseconds the time part begins anew. */
const CYCLE_MS = 36 ** 5 * 1000;

describe("generating", () => {
	test("a run id always has seven lower-case base-36 characters", () => {
		fc.assert(
			fc.property(wallMs, fraction, (time, drawn) => {
				const id = generateRunId(time, chance(drawn));
				expect(id).toMatch(/^[0-9a-z]{7}$/);
				expect(isRunId(id)).toBe(true);
			}),
		);
	});

	test("the ends of both ranges are padded and do not overflow", () => {
		const most = 1 - Number.EPSILON;
		expect(generateRunId(0, chance(0))).toBe("0000000");
		expect(generateRunId(CYCLE_MS - 1, chance(most))).toBe("zzzzzzz");
		expect(generateRunId(CYCLE_MS, chance(most))).toBe("00000zz");
	});

	test("the first five characters are the time in seconds, repeating after 36⁵ seconds", () => {
		fc.assert(
			fc.property(wallMs, fraction, (time, drawn) => {
				const id = generateRunId(time, chance(drawn));
				expect(Number.parseInt(id.slice(0, 5), 36)).toBe(
					Math.floor(time / 1000) % 36 ** 5,
				);
				if (time <= 8_640_000_000_000_000 - CYCLE_MS)
					expect(generateRunId(time + CYCLE_MS, chance(drawn))).toBe(id);
			}),
		);
	});

	test("the last two characters are chance, and reach each of their 1,296 values", () => {
		const reached = new Set(
			Array.from({ length: 1296 }, (_, value) =>
				generateRunId(0, chance((value + 0.5) / 1296)).slice(5),
			),
		);
		expect(reached.size).toBe(1296);
	});

	test("run ids of one cycle sort by time", () => {
		const second = fc.integer({ min: 0, max: 36 ** 5 - 2 });
		fc.assert(
			fc.property(second, fraction, fraction, (seconds, one, other) => {
				const [earlier, later] = [
					generateRunId(seconds * 1000, chance(one)),
					generateRunId((seconds + 1) * 1000, chance(other)),
				];
				expect(earlier < later).toBe(true);
			}),
		);
	});

	test("the same time and seed give the same run id", () => {
		expect(generateRunId(1e12, new SeededRandom(5))).toBe(
			generateRunId(1e12, new SeededRandom(5)),
		);
	});
});

describe("validating", () => {
	test.each([
		"",
		"k3x9a2",
		"k3x9a2pp",
		"K3X9A2P",
		"k3x9a2-",
		" k3x9a2p",
		"k3x9a2p\n",
		"kéx9a2p",
	])("%j is no run id", (text) => {
		expect(isRunId(text)).toBe(false);
	});
});

test("a run id contains when it was drawn, to the second, also across the cycle and for a clock that was ahead", () => {
	const random = { fraction: () => 0.5, token: () => "" };
	const CYCLE_MS = 36 ** 5 * 1000;
	for (const drawn of [1_700_000_000_000, CYCLE_MS * 29 - 1000, CYCLE_MS * 29])
		for (const laterMs of [0, 1000, 86_400_000, CYCLE_MS - 86_401_000])
			expect(generatedAt(generateRunId(drawn, random), drawn + laterMs)).toBe(
				Math.floor(drawn / 1000) * 1000,
			);
	const ahead = generateRunId(1_700_000_060_000, random);
	expect(generatedAt(ahead, 1_700_000_000_000)).toBe(1_700_000_000_000);
});
