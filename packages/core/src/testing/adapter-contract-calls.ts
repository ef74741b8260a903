import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { CallProgress } from "../contract/connection.ts";
import { CallAbortedError, InputError, ToolError } from "../contract/errors.ts";
import type {
	BenchCase,
	ContractCommand,
	ContractCommands,
} from "./adapter-contract.ts";
import { assertKind, type ContractCase, failureOf } from "./contract-case.ts";

/** What `execute` and `ping` promise. */
export function callCases(
	onBench: BenchCase,
	commands: ContractCommands,
	callsPerWorker: number,
): readonly ContractCase[] {
	const { echo, hang, fail, unconfirmed, strayLine } = commands;
	const cases = [
		onBench(
			"the first call is taken as soon as connect resolves",
			async ({ execute }) => {
				assert.deepEqual(await execute(echo), echo.result);
			},
		),
		onBench(
			"one call after the other is answered with the command's result",
			async ({ execute }) => {
				for (let call = 0; call < 5; call++)
					assert.deepEqual(await execute(echo), echo.result);
			},
		),
		onBench(
			"an unknown command is an InputError that never ran, and the worker stays usable",
			async ({ execute, usable }) => {
				const error = await failureOf(
					"unknown command",
					// An adapter may look at arguments first: these are right for one command.
					execute({ command: "no-such-command", args: echo.args }),
				);
				assertKind(error, InputError);
				assert.deepEqual([error.code, error.ran], ["TOOL_NOT_FOUND", "no"]);
				await usable();
			},
		),
		onBench(
			"an abort after the answer has no effect",
			async ({ execute, usable }) => {
				const abort = new AbortController();
				assert.deepEqual(
					await execute(echo, { signal: abort.signal }),
					echo.result,
				);
				abort.abort();
				await usable();
			},
		),
	];
	if (hang) cases.push(...hangingCases(onBench, hang));
	if (unconfirmed) {
		cases.push(
			onBench(
				"an aborted call that the program does not confirm settles as CallAbortedError with its worker unknown",
				async ({ execute }) => {
					const abort = new AbortController();
					const call = failureOf(
						"aborted call",
						execute(unconfirmed, { signal: abort.signal }),
					);
					abort.abort();
					const error = await call;
					assertKind(error, CallAbortedError);
					assert.equal(error.worker, "unknown");
				},
			),
		);
	}
	if (strayLine) {
		cases.push(
			onBench(
				"a stray line in the output loses no answer, and the worker stays usable",
				async ({ execute, usable, brokenBy }) => {
					assert.deepEqual(await execute(strayLine), strayLine.result);
					await usable();
					assert.deepEqual(brokenBy, []);
				},
			),
		);
	}
	if (fail) {
		cases.push(
			onBench(
				"a command that fails is a ToolError that names it, and the worker stays usable",
				async ({ execute, usable }) => {
					const error = await failureOf("failing command", execute(fail));
					assertKind(error, ToolError);
					assert.ok(
						error.message !== "" &&
							error.remote.type !== "" &&
							error.remote.message !== "",
					);
					await usable();
				},
			),
		);
	}
	if (hang && callsPerWorker > 1) {
		cases.push(
			onBench(
				`${callsPerWorker} calls run at once, and each gets its own answer`,
				async ({ execute }) => {
					const abort = new AbortController();
					const hanging = Array.from({ length: callsPerWorker - 1 }, () =>
						failureOf("aborted call", execute(hang, { signal: abort.signal })),
					);
					assert.deepEqual(await execute(echo), echo.result);
					abort.abort();
					for (const error of await Promise.all(hanging))
						assertKind(error, CallAbortedError);
					const answers = await Promise.all(
						Array.from({ length: callsPerWorker }, () => execute(echo)),
					);
					for (const answer of answers) assert.deepEqual(answer, echo.result);
				},
			),
			onBench(
				"aborting one call does not affect the others",
				async ({ execute }) => {
					const [one, other] = [new AbortController(), new AbortController()];
					let over = false;
					const first = failureOf(
						"first call",
						execute(hang, { signal: one.signal }),
					);
					const second = failureOf(
						"second call",
						execute(hang, { signal: other.signal }),
					).finally(() => {
						over = true;
					});
					one.abort();
					await first;
					assert.equal(over, false, "the second call ended with the first");
					other.abort();
					await second;
				},
			),
		);
	}
	return cases;
}

/** What an abort and a ping do while a call runs. */
function hangingCases(
	onBench: BenchCase,
	hang: ContractCommand,
): readonly ContractCase[] {
	return [
		onBench(
			"an aborted call settles as CallAbortedError and frees the worker",
			async ({ execute, usable }) => {
				const abort = new AbortController();
				const call = failureOf(
					"aborted call",
					execute(hang, { signal: abort.signal }),
				);
				abort.abort(new Error("the caller went away"));
				assertKind(await call, CallAbortedError);
				await usable();
			},
		),
		onBench(
			"a call that is aborted before it begins settles as CallAbortedError",
			async ({ execute, usable }) => {
				const call = failureOf(
					"aborted call",
					execute(hang, { signal: AbortSignal.abort() }),
				);
				assertKind(await call, CallAbortedError);
				await usable();
			},
		),
		onBench(
			"a ping is answered, also while calls run",
			async ({ connection, execute, soon, usable }) => {
				if (!connection.ping) return;
				const signal = new AbortController().signal;
				await soon("ping", connection.ping(signal));
				const abort = new AbortController();
				const call = failureOf(
					"aborted call",
					execute(hang, { signal: abort.signal }),
				);
				const { callsRunning } = await soon(
					"ping during a call",
					connection.ping(signal),
				);
				assert.ok(
					Number.isInteger(callsRunning) && callsRunning >= 0,
					`callsRunning is ${callsRunning}`,
				);
				abort.abort();
				await call;
				await usable();
			},
		),
	];
}

/** That something does not happen shows only when time has passed: the one wait of this suite. */
const QUIET_MS = 200;

/** What `stream` promises. */
export function streamCases(
	onBench: BenchCase,
	commands: ContractCommands,
): readonly ContractCase[] {
	const { count, endless, silent } = commands;
	const cases: ContractCase[] = [];
	if (count) {
		cases.push(
			onBench(
				"a stream yields its items in order, and ends",
				async ({ stream, usable }) => {
					const items: unknown[] = [];
					for await (const item of stream(count)) items.push(item);
					assert.deepEqual(items, count.items);
					await usable();
				},
			),
			...("result" in count
				? [
						onBench(
							"the last step of a stream has its result",
							async ({ stream, usable }) => {
								const steps = stream(count);
								let step = await steps.next();
								while (step.done !== true) step = await steps.next();
								assert.deepEqual(step.value, count.result);
								await usable();
							},
						),
					]
				: []),
			onBench(
				"closing a stream early frees the worker",
				async ({ stream, usable }) => {
					for await (const item of stream(count)) {
						assert.deepEqual(item, count.items[0]);
						break;
					}
					await usable();
				},
			),
			onBench(
				"an unknown command is an InputError for a stream, too",
				async ({ stream, usable }) => {
					const error = await failureOf(
						"unknown command",
						stream({ command: "no-such-command", args: {} }).next(),
					);
					assertKind(error, InputError);
					await usable();
				},
			),
		);
	}
	if (endless) {
		cases.push(
			onBench(
				"an aborted stream settles as CallAbortedError and frees the worker",
				async ({ stream, usable }) => {
					const abort = new AbortController();
					const items = stream(endless, { signal: abort.signal });
					await items.next();
					abort.abort();
					const drained = (async () => {
						while (!(await items.next()).done); // Items that were under way may still come.
					})();
					assertKind(
						await failureOf("aborted stream", drained),
						CallAbortedError,
					);
					await usable();
				},
			),
			onBench(
				"a slow consumer limits the program to a bounded window",
				async ({ stream, execute, soon }) => {
					const items = stream(endless);
					await items.next();
					await delay(QUIET_MS);
					await items.return?.();
					const produced = await soon(
						"asking how many were produced",
						endless.produced({
							execute: (command, args) => execute({ command, args }),
						}),
					);
					assert.ok(
						produced <= endless.window + 1,
						`${produced} items were produced for 1 that was read`,
					);
				},
			),
			onBench(
				"a running stream rejects when the process dies",
				async ({ stream, kill }) => {
					const items = stream(endless);
					await items.next();
					kill();
					const drained = (async () => {
						while (!(await items.next()).done);
					})();
					await failureOf("stream of a dead worker", drained);
				},
			),
		);
	}
	if (silent) {
		cases.push(
			onBench(
				"an abort during the wait for an item ends the wait and frees the worker",
				async ({ stream, usable }) => {
					const abort = new AbortController();
					const item = failureOf(
						"awaited item",
						stream(silent, { signal: abort.signal }).next(),
					);
					abort.abort();
					assertKind(await item, CallAbortedError);
					await usable();
				},
			),
		);
	}
	return cases;
}

/** What an adapter promises whose programs report their progress. */
export function progressCases(
	onBench: BenchCase,
	{ report }: ContractCommands,
): readonly ContractCase[] {
	if (report === undefined) return [];
	const { reports, result } = report;
	return [
		onBench(
			"progress reports arrive in order and before the answer, and the newest one always arrives",
			async ({ execute, usable }) => {
				const arrived: CallProgress[] = [];
				const onProgress = async (progress: CallProgress): Promise<void> => {
					arrived.push(progress);
				};
				assert.deepEqual(await execute(report, { onProgress }), result);
				const atTheEnd = [...arrived];
				assert.deepEqual(arrived.at(-1), reports.at(-1));
				let at = -1;
				for (const progress of arrived) {
					const next = reports.findIndex(
						(each, index) => index > at && isSame(each, progress),
					);
					assert.ok(
						next > at,
						`${JSON.stringify(progress)} is not reported, or not in this order`,
					);
					at = next;
				}
				await usable();
				assert.deepEqual(arrived, atTheEnd);
			},
		),
		onBench(
			"a host that ignores the first report still gets the answer",
			async ({ execute, usable }) => {
				const arrived: CallProgress[] = [];
				const onProgress = (progress: CallProgress): Promise<void> => {
					arrived.push(progress);
					return new Promise(() => {});
				};
				assert.deepEqual(await execute(report, { onProgress }), result);
				assert.deepEqual(arrived[0], reports[0]);
				await usable();
			},
		),
		onBench(
			"a command that reports progress works without onProgress",
			async ({ execute, usable }) => {
				assert.deepEqual(await execute(report), result);
				await usable();
			},
		),
	];
}

function isSame(one: CallProgress, other: CallProgress): boolean {
	return one.fraction === other.fraction && one.message === other.message;
}
