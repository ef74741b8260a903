import assert from "node:assert/strict";
import { CallAbortedError, InputError, ToolError } from "../contract/errors.ts";
import type {
	BenchCase,
	ContractCommand,
	ContractCommands,
} from "./adapter-contract.ts";
import { type ContractCase, failureOf } from "./contract-case.ts";

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
				assert.ok(
					error instanceof InputError,
					`${error.name} is no InputError: ${error.message}`,
				);
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
					assert.ok(
						error instanceof CallAbortedError,
						`${error.name} is no CallAbortedError: ${error.message}`,
					);
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
					assert.ok(
						error instanceof ToolError,
						`${error.name} is no ToolError: ${error.message}`,
					);
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
						assert.ok(error instanceof CallAbortedError);
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
				assert.ok((await call) instanceof CallAbortedError);
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
				assert.ok((await call) instanceof CallAbortedError);
				await usable();
			},
		),
		onBench(
			"a ping is answered, also while calls run",
			async ({ connection, execute, soon, usable }) => {
				if (!connection.ping) return;
				const patience = new AbortController().signal;
				await soon("ping", connection.ping(patience));
				const abort = new AbortController();
				const call = failureOf(
					"aborted call",
					execute(hang, { signal: abort.signal }),
				);
				const { callsRunning } = await soon(
					"ping during a call",
					connection.ping(patience),
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
