import assert from "node:assert/strict";
import { join } from "node:path";
import {
	formatMarker,
	generateRunId,
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
	markerOf,
} from "../../../src/contract/identity.ts";
import type { ContractCase } from "../../../src/testing/contract-case.ts";
import { SeededRandom } from "../../../src/testing/virtual-pool.ts";
import { PLAIN } from "./contract-program.ts";
import type {
	ProcessHostBench,
	ProcessHostCase,
} from "./process-host-contract.ts";

/** What a host promises of groups, marks and files. */
export function processGroupCases(
	onBench: ProcessHostCase,
): readonly ContractCase[] {
	const pids = (
		{ host }: ProcessHostBench,
		groupId: number,
	): readonly number[] =>
		host.members(groupId).map((member) => member.identity.pid);
	return [
		onBench(
			"the members of a group are its leader and the children that stayed",
			async (bench) => {
				const process = await bench.start(bench.programs.forks);
				await bench.up(process);
				const members = pids(bench, process.groupId);
				assert.equal(members.length, 2);
				assert.ok(members.includes(process.identity.pid));
				const none = 2 ** 30;
				const several = bench.host.membersOf([process.groupId, none]);
				assert.equal(several.get(process.groupId)?.length, 2);
				assert.deepEqual(several.get(none), []);
			},
		),
		onBench("a group signal ends all of it", async (bench) => {
			const process = await bench.start(bench.programs.forks);
			await bench.up(process);
			assert.equal(process.signal("SIGKILL", "group"), "sent");
			await bench.soon("exit", process.exited);
			await bench.eventually(
				"the end of the group",
				() => pids(bench, process.groupId).length === 0,
			);
			assert.equal(process.signal("SIGKILL", "group"), "gone");
		}),
		onBench("a group can be ended after its leader is gone", async (bench) => {
			const process = await bench.start(bench.programs.forks);
			await bench.up(process);
			process.signal("SIGKILL", "process");
			await bench.soon("exit", process.exited);
			assert.equal(pids(bench, process.groupId).length, 1);
			assert.equal(process.signal("SIGKILL", "process"), "gone");
			assert.equal(process.signal("SIGKILL", "group"), "sent");
			await bench.eventually(
				"the end of the group",
				() => pids(bench, process.groupId).length === 0,
			);
		}),
		onBench(
			"what carries the marker is found, with its children, and nothing else",
			async (bench) => {
				const { host, programs, start, up, eventually } = bench;
				const marker = markerOf(
					generateRunId(Date.now(), new SeededRandom(Date.now())),
					host.self,
					"contract",
				);
				const mine = (): readonly number[] =>
					host
						.marked()
						.filter((found) => found.marker.runId === marker.runId)
						.map((found) => found.identity.pid);
				const process = await start(programs.forks, {
					env: {
						...PLAIN.env,
						[MARKER_VARIABLE]: formatMarker(marker),
						[INCARNATION_VARIABLE]: "r-1",
					},
				});
				const bare = await start(programs.idles);
				await up(process);
				await up(bare);
				const found = host
					.marked()
					.filter((each) => each.marker.runId === marker.runId);
				assert.deepEqual(
					[...mine()].sort(),
					[...pids(bench, process.groupId)].sort(),
				);
				for (const each of found)
					assert.deepEqual(
						[each.marker, each.incarnation, each.groupId],
						[marker, "r-1", process.groupId],
					);
				process.signal("SIGKILL", "group");
				await eventually("nothing marked", () => mine().length === 0);
			},
		),
		onBench(
			"a directory is fresh, and removing it with all it holds may be repeated",
			async ({ host, directory }) => {
				const path = join(directory, "fresh");
				host.createDirectory(path);
				assert.throws(() => host.createDirectory(path));
				host.createDirectory(join(path, "inside"));
				assert.deepEqual(
					host.remove([path, join(directory, "never-there")]),
					[],
				);
				host.createDirectory(path);
				assert.deepEqual(host.remove([path]), []);
				assert.deepEqual(host.remove([path]), []);
			},
		),
		onBench(
			"a lifeline can be listened to at a path, and again when it was closed",
			async ({ host, directory, soon }) => {
				const path = join(directory, "l");
				for (let time = 0; time < 2; time++) {
					const lifeline = await soon("listening", host.listenLifeline(path));
					assert.equal(lifeline.path, path);
					lifeline.close();
					lifeline.close();
				}
			},
		),
		onBench(
			"what keeps the program open can be released more than once",
			async ({ host }) => {
				const release = host.keepAlive();
				release();
				release();
				assert.equal(typeof host.debuggerAttached(), "boolean");
			},
		),
	];
}
