import assert from "node:assert/strict";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { StartError } from "../../src/contract/errors.ts";
import {
	formatMarker,
	generateRunId,
	INCARNATION_VARIABLE,
	isSameProcess,
	MARKER_VARIABLE,
	markerOf,
	type ProcessIdentity,
} from "../../src/contract/identity.ts";
import type {
	ProcessHost,
	ProcessSpec,
	StartedProcess,
} from "../../src/contract/world.ts";
import { type ContractCase, within } from "../../src/testing/contract-case.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";

/** A program of a contract: what to execute. */
export type ContractProgram = Pick<ProcessSpec, "executable" | "args">;

/** How the programs of a contract are started, unless a case sets it otherwise. */
const PLAIN: Omit<ProcessSpec, keyof ContractProgram> = {
	env: { PATH: process.env["PATH"] ?? "" },
	cwd: undefined,
	stdin: "empty",
	control: false,
};

/** Small programs, each named by its one habit. `up` means one line `up` on standard output when it is so far. */
export interface ContractPrograms {
	/** Writes `out` on standard output and `err` on standard error, and exits with code 7. */
	readonly exitsWithSeven: ContractProgram;
	/** Writes `up` and lives until a signal ends it. */
	readonly idles: ContractProgram;
	/** Ignores SIGTERM, writes `up` and runs on. */
	readonly ignoresTerm: ContractProgram;
	/** Starts an idle child in its own group, writes `up` and runs on. */
	readonly forks: ContractProgram;
	/** Writes back what it reads until its input ends, then exits with code 0. */
	readonly copies: ContractProgram;
	/** Writes back on descriptor 3 what it reads there, and exits with code 0 at its end. */
	readonly copiesControl: ContractProgram;
}

/** How long anything may take that must not hang, in milliseconds of real time. */
const WITHIN_MS = 10_000;

/** What the contract needs of a host. */
interface ProcessHostHarness {
	/** Asked once per case. */
	host(): ProcessHost;
	readonly programs: ContractPrograms;
	/** An existing directory in which nothing else is. */
	readonly directory: string;
}

/** What a case may use. */
interface ProcessHostBench {
	readonly host: ProcessHost;
	readonly programs: ContractPrograms;
	readonly directory: string;
	/** Starts a program; it is killed with its group when the case ends. */
	start(
		program: ContractProgram,
		spec?: Partial<ProcessSpec>,
	): Promise<StartedProcess>;
	/** Waits for the line `up`. */
	up(process: StartedProcess): Promise<void>;
	/** Rejects when `promise` has not settled in time. */
	soon<Value>(what: string, promise: Promise<Value>): Promise<Value>;
	/** Looks again and again until it is so: the process table has no events. */
	eventually(what: string, isSo: () => boolean): Promise<void>;
}

/** Makes a case that gets a host and cleans up after itself. */
type ProcessHostCase = (
	title: string,
	body: (bench: ProcessHostBench) => Promise<void>,
) => ContractCase;

/** Everything that the machinery relies on in a host, as cases for any test runner; the fake one and the real one keep it. */
export function processHostContract(
	harness: ProcessHostHarness,
): readonly ContractCase[] {
	const onBench: ProcessHostCase = (title, body) => ({
		title,
		run: async () => {
			const started: StartedProcess[] = [];
			try {
				await body(benchOf(harness, started));
			} finally {
				for (const process of started) process.signal("SIGKILL", "group");
			}
		},
	});
	return [...processCases(onBench), ...processGroupCases(onBench)];
}

function benchOf(
	harness: ProcessHostHarness,
	started: StartedProcess[],
): ProcessHostBench {
	const { programs, directory } = harness;
	const host = harness.host();
	const soon: ProcessHostBench["soon"] = (what, promise) =>
		within(WITHIN_MS, what, promise);
	return {
		host,
		programs,
		directory,
		soon,
		start: async (program, spec = {}) => {
			const process = await soon(
				`start of ${program.executable}`,
				host.source.start({ ...program, ...PLAIN, ...spec }, () => undefined),
			);
			started.push(process);
			process.stderr.resume();
			return process;
		},
		up: (process) =>
			soon(
				"the line up",
				new Promise((resolve, reject) => {
					let text = "";
					process.stdout.on("data", (chunk) => {
						text += String(chunk);
						if (text.includes("up\n")) resolve();
					});
					process.stdout.on("end", () =>
						reject(new Error(`It ended after ${JSON.stringify(text)}.`)),
					);
				}),
			),
		eventually: async (what, isSo) => {
			const deadline = Date.now() + WITHIN_MS;
			while (!isSo()) {
				if (Date.now() > deadline)
					throw new Error(`${what}: not within ${WITHIN_MS} ms.`);
				await new Promise((resolve) => setTimeout(resolve, 5));
			}
		},
	};
}

/** What a host promises of single processes. */
function processCases(onBench: ProcessHostCase): readonly ContractCase[] {
	return [
		onBench("it sees itself", async ({ host }) => {
			assert.deepEqual(host.observe(host.self.pid), host.self);
			assert.equal(host.facts(host.self.pid)?.condition, "alive");
		}),
		onBench(
			"a program's exit code is reported, and its output is complete",
			async ({ host, start, soon, programs }) => {
				const process = await start(programs.exitsWithSeven);
				const out = text(process.stdout);
				assert.deepEqual(await soon("exit", process.exited), {
					kind: "code",
					code: 7,
				});
				assert.equal(await soon("output", out), "out\n");
				assert.notEqual(host.observe(process.identity.pid), process.identity);
			},
		),
		onBench(
			"the identity is recorded before the start resolves, and is what is seen",
			async ({ host, programs, soon }) => {
				let recorded: ProcessIdentity | undefined;
				const process = await soon(
					"start",
					host.source.start({ ...programs.idles, ...PLAIN }, (identity) => {
						recorded = identity;
					}),
				);
				try {
					assert.deepEqual(recorded, process.identity);
					assert.deepEqual(
						host.observe(process.identity.pid),
						process.identity,
					);
					assert.equal(process.groupId, process.identity.pid);
					assert.ok(
						process.identity.pid !== host.self.pid &&
							process.identity.bootId === host.self.bootId,
					);
				} finally {
					process.signal("SIGKILL", "group");
				}
			},
		),
		onBench(
			"when it cannot be recorded it is killed, and the error passed on",
			async ({ host, programs, eventually }) => {
				const refusal = new Error("not recorded");
				let recorded: ProcessIdentity | undefined;
				const start = host.source.start(
					{ ...programs.idles, ...PLAIN },
					(identity) => {
						recorded = identity;
						throw refusal;
					},
				);
				await assert.rejects(start, (error) => error === refusal);
				await eventually("its death", () => {
					const seen = host.observe(recorded?.pid ?? 0);
					return (
						typeof seen === "string" ||
						!recorded ||
						!isSameProcess(seen, recorded)
					);
				});
			},
		),
		onBench(
			"a program that is not there is a StartError, and nothing was recorded",
			async ({ host }) => {
				let recorded = false;
				const start = host.source.start(
					{ ...PLAIN, executable: "/nowhere/no-such-program", args: [] },
					() => {
						recorded = true;
					},
				);
				await assert.rejects(
					start,
					(error) =>
						error instanceof StartError && error.code === "SPAWN_FAILED",
				);
				assert.equal(recorded, false);
			},
		),
		onBench(
			"SIGTERM ends a program that does not mind, and the end names the signal",
			async ({ start, up, soon, programs }) => {
				const process = await start(programs.idles);
				await up(process);
				assert.equal(process.signal("SIGTERM", "process"), "sent");
				assert.deepEqual(await soon("exit", process.exited), {
					kind: "signal",
					signal: "SIGTERM",
				});
				assert.equal(process.signal("SIGTERM", "process"), "gone");
			},
		),
		onBench(
			"SIGKILL ends what ignores SIGTERM",
			async ({ host, start, up, soon, programs }) => {
				const process = await start(programs.ignoresTerm);
				await up(process);
				assert.equal(process.signal("SIGTERM", "group"), "sent");
				assert.deepEqual(host.observe(process.identity.pid), process.identity);
				assert.equal(process.signal("SIGKILL", "group"), "sent");
				assert.deepEqual(await soon("exit", process.exited), {
					kind: "signal",
					signal: "SIGKILL",
				});
			},
		),
		onBench(
			"a signal reaches that very process or none",
			async ({ host, start, up, soon, programs }) => {
				const process = await start(programs.idles);
				await up(process);
				const stranger = {
					...process.identity,
					startTime: `${process.identity.startTime}0`,
				};
				assert.equal(host.signal(stranger, "SIGKILL"), "gone");
				assert.deepEqual(host.observe(process.identity.pid), process.identity);
				assert.equal(host.signal(process.identity, "SIGKILL"), "sent");
				await soon("exit", process.exited);
				assert.equal(host.signal(process.identity, "SIGKILL"), "gone");
			},
		),
		onBench(
			"the facts of a process: its identity, condition and use",
			async ({ host, start, up, soon, programs }) => {
				const process = await start(programs.idles);
				await up(process);
				const facts = host.facts(process.identity.pid);
				assert.deepEqual(
					[facts?.identity, facts?.groupId, facts?.condition],
					[process.identity, process.groupId, "alive"],
				);
				assert.ok(facts && facts.residentBytes > 0 && facts.cpuTimeMs >= 0);
				process.signal("SIGKILL", "process");
				await soon("exit", process.exited);
				assert.notEqual(host.facts(process.identity.pid)?.condition, "alive");
			},
		),
		onBench(
			"the threads of a process: at least one, each named once, none when it is gone",
			async ({ host, start, up, soon, programs }) => {
				const process = await start(programs.idles);
				await up(process);
				const threads = host.threads(process.identity.pid);
				assert.ok(threads.length > 0);
				assert.equal(new Set(threads.map(({ id }) => id)).size, threads.length);
				for (const { cpuTimeMs, held } of threads) {
					assert.ok(cpuTimeMs >= 0);
					assert.notEqual(held, "traced");
				}
				process.signal("SIGKILL", "process");
				await soon("exit", process.exited);
				assert.deepEqual(host.threads(process.identity.pid), []);
			},
		),
		onBench(
			"an adapter writes to its standard input and reads its standard output",
			async ({ start, soon, programs }) => {
				const process = await start(programs.copies, { stdin: "pipe" });
				process.stdin?.end("there and back");
				assert.equal(
					await soon("output", text(process.stdout)),
					"there and back",
				);
				assert.deepEqual(await soon("exit", process.exited), {
					kind: "code",
					code: 0,
				});
			},
		),
		onBench(
			"without a pipe its standard input is empty, and there is no control channel",
			async ({ start, soon, programs }) => {
				const process = await start(programs.copies);
				assert.deepEqual(
					[process.stdin, process.control],
					[undefined, undefined],
				);
				assert.equal(await soon("output", text(process.stdout)), "");
			},
		),
		onBench(
			"descriptor 3 is the control channel, both ways",
			async ({ start, soon, programs }) => {
				const process = await start(programs.copiesControl, { control: true });
				assert.ok(process.control);
				process.control.end("launch\n");
				assert.equal(await soon("answer", text(process.control)), "launch\n");
			},
		),
	];
}

/** What a host promises of groups, marks and files. */
function processGroupCases(onBench: ProcessHostCase): readonly ContractCase[] {
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
