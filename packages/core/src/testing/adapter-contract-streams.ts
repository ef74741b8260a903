import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { CallAbortedError, InputError } from "../contract/errors.ts";
import type { BenchCase, ContractCommands } from "./adapter-contract.ts";
import { type ContractCase, failureOf } from "./contract-case.ts";

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
					assert.ok(
						error instanceof InputError,
						`${error.name} is no InputError: ${error.message}`,
					);
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
					assert.ok(
						(await failureOf("aborted stream", drained)) instanceof
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
					assert.ok((await item) instanceof CallAbortedError);
					await usable();
				},
			),
		);
	}
	return cases;
}
