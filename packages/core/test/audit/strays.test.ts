import fc from "fast-check";
import { expect, test } from "vitest";
import {
	decideStrays,
	keyOf,
	type Stray,
	unaccounted,
} from "../../src/audit/auditor.ts";
import {
	formatMarker,
	markerOf,
	type RunId,
} from "../../src/contract/identity.ts";
import type { WorkerStatus } from "../../src/contract/process-registry.ts";
import type { MarkedProcess } from "../../src/contract/world.ts";
import { deadOwner } from "../cleanup/crafted-run.ts";

const RUN = "abcdefg" as RunId;
const marker = markerOf(RUN, deadOwner(), "d");

function marked(fields: Partial<MarkedProcess> = {}): MarkedProcess {
	return {
		identity: deadOwner({ pid: 7 }),
		groupId: 7,
		marker,
		incarnation: "abcdefg-1",
		name: "daemon",
		...fields,
	};
}

function stray(pid: number, startTime: string): Stray {
	return {
		identity: deadOwner({ pid, startTime }),
		incarnation: undefined,
		of: "unknown",
		name: "x",
	};
}

test.each<[WorkerStatus | undefined, string]>([
	["reserved", "none"],
	["active", "none"],
	["ended", "ended"],
	[undefined, "unknown"],
])("a process whose worker is %s is a stray of: %s", (status, of) => {
	const found = unaccounted([marked()], formatMarker(marker), () => status);
	expect(found.map((each) => each.of)).toEqual(of === "none" ? [] : [of]);
});

test("a process that names no worker belongs to none", () => {
	expect(
		unaccounted(
			[marked({ incarnation: undefined })],
			formatMarker(marker),
			() => "active",
		),
	).toMatchObject([{ of: "unknown", incarnation: undefined, name: "daemon" }]);
});

test("processes of other runs, even of one with the same id and another host, are ignored", () => {
	const others = [
		markerOf("0000000" as RunId, deadOwner(), "d"),
		markerOf(RUN, deadOwner({ pid: 5 }), "d"),
		markerOf(RUN, deadOwner({ bootId: "another" }), "d"),
	];
	expect(
		unaccounted(
			others.map((other) => marked({ marker: other })),
			formatMarker(marker),
			() => undefined,
		),
	).toEqual([]);
});

test("a stray is what was unaccounted for at this look and at the one before, and nothing else", () => {
	const process = fc
		.tuple(fc.integer({ min: 1, max: 5 }), fc.constantFrom("1", "2"))
		.map(([pid, startTime]) => stray(pid, startTime));
	fc.assert(
		fc.property(fc.array(fc.array(process)), (looks) => {
			let before: ReadonlySet<string> = new Set();
			for (const found of looks) {
				const step = decideStrays(found, before);
				const keys = found.map(keyOf);
				expect(step.strays.map(keyOf)).toEqual(
					keys.filter((key) => before.has(key)),
				);
				expect([...step.suspects].sort()).toEqual([...new Set(keys)].sort());
				before = step.suspects;
			}
		}),
	);
});
