import assert from "node:assert/strict";
import { ConnectionBrokenError } from "../contract/errors.ts";
import type {
	AdapterHarness,
	BenchCase,
	ContractCommands,
} from "./adapter-contract.ts";
import { assertKind, type ContractCase, failureOf } from "./contract-case.ts";

/** What a connection promises when the worker leaves, dies, or talks nonsense. */
export function endingCases(
	onBench: BenchCase,
	commands: ContractCommands,
	begins: AdapterHarness["begins"],
): readonly ContractCase[] {
	const { echo, hang, count, breakConversation } = commands;
	const { endOutput, lastAnswer, leaveSlowly } = commands;
	const cases = [
		onBench(
			"after the process has died, calls, streams and pings reject",
			async (bench) => {
				const { connection, execute, kill, process, soon } = bench;
				kill();
				await soon("exit", process.exited);
				await failureOf("call after death", execute(echo));
				if (count)
					await failureOf("stream after death", bench.stream(count).next());
				if (connection.ping)
					await failureOfAny(
						soon(
							"ping after death",
							connection.ping(new AbortController().signal),
						),
					);
				connection.endSession?.("nobody");
			},
		),
		onBench(
			"leave ends the process with exit code 0",
			async ({ connection, leave, process, soon, usable }) => {
				if (!connection.leave) return;
				await usable();
				// It may settle with or after the exit, or reject because the conversation ended with it.
				leave(new AbortController().signal).catch(() => undefined);
				assert.deepEqual(await soon("exit", process.exited), {
					kind: "code",
					code: 0,
				});
			},
		),
		onBench(
			"dispose may be called again, and later calls reject",
			async ({ connection, execute, soon }) => {
				await soon(
					"dispose",
					Promise.resolve(connection[Symbol.asyncDispose]()),
				);
				await soon(
					"second dispose",
					Promise.resolve(connection[Symbol.asyncDispose]()),
				);
				await failureOf("call after dispose", execute(echo));
			},
		),
		onBench(
			"ending an unknown session has no effect",
			async ({ connection, usable }) => {
				connection.endSession?.("nobody");
				await usable();
			},
		),
	];
	if (hang) {
		cases.push(
			onBench(
				"when the process dies, a running call rejects as ConnectionBrokenError with ran: maybe, unless its begin is recorded outside of the process",
				async ({ connection, execute, kill, usable }) => {
					await usable(); // What connects for a call is connected now.
					const call = failureOf("call of a dead worker", execute(hang));
					kill();
					const error = await call;
					assertKind(error, ConnectionBrokenError);
					// One that prefetches calls also knows of the first whether it began.
					if (begins !== "noted" && connection.prefetch === undefined)
						assert.equal(error.ran, "maybe");
				},
			),
		);
	}
	if (endOutput) {
		cases.push(
			onBench(
				"when the output ends before the process, running and later calls reject without waiting for the process",
				async ({ execute, process }) => {
					let isGone = false;
					void process.exited.then(() => {
						isGone = true;
					});
					const error = await failureOf(
						"call without an answer",
						execute(endOutput),
					);
					assertKind(error, ConnectionBrokenError);
					await failureOf("call after the end", execute(echo));
					assert.equal(isGone, false, "the calls waited for the process");
				},
			),
		);
	}
	if (lastAnswer) {
		cases.push(
			onBench(
				"an answer arrives even if the process exits right after it",
				async ({ execute, process, soon }) => {
					assert.deepEqual(await execute(lastAnswer), lastAnswer.result);
					await soon("exit", process.exited);
				},
			),
		);
	}
	if (leaveSlowly) {
		cases.push(
			onBench(
				"a slow leave ends with exit code 0, too",
				async ({ execute, leave, process, soon }) => {
					await execute(leaveSlowly);
					leave(new AbortController().signal).catch(() => {});
					assert.deepEqual(await soon("exit", process.exited), {
						kind: "code",
						code: 0,
					});
				},
			),
		);
	}
	if (breakConversation) {
		cases.push(
			onBench(
				"a broken conversation is reported to the pool exactly once, and running calls reject",
				async (bench) => {
					const { execute, brokenBy, process, soon } = bench;
					const error = await failureOf(
						"call in a broken conversation",
						execute(breakConversation),
					);
					assertKind(error, ConnectionBrokenError);
					assert.equal(
						brokenBy.length,
						1,
						`process.broken was called ${brokenBy.length} times`,
					);
					await failureOf("call after the break", execute(echo));
					await soon("exit", process.exited); // The pool replaces the worker.
					assert.equal(
						brokenBy.length,
						1,
						`process.broken was called ${brokenBy.length} times`,
					);
				},
			),
		);
	}
	return cases;
}

/** A ping may reject with anything: the heartbeat only counts. */
async function failureOfAny(promise: Promise<unknown>): Promise<void> {
	await assert.rejects(promise);
}
