import assert from "node:assert/strict";
import type { CallProgress } from "../contract/connection.ts";
import type { BenchCase, ContractCommands } from "./adapter-contract.ts";
import type { ContractCase } from "./contract-case.ts";

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
