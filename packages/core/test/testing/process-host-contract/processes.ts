import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { StartError } from "../../../src/contract/errors.ts";
import {
	isSameProcess,
	type ProcessIdentity,
} from "../../../src/contract/identity.ts";
import type { ContractCase } from "../../../src/testing/contract-case.ts";
import { PLAIN } from "./contract-program.ts";
import type { ProcessHostCase } from "./process-host-contract.ts";

/** What a host promises of single processes. */
export function processCases(
	onBench: ProcessHostCase,
): readonly ContractCase[] {
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
