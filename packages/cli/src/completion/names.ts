import { attach, type ControlClient, findRuns } from "@snakepit/control";
import { isAlive, readHistory } from "@snakepit/core/inspect";
import type { NameKind } from "./name-kinds.ts";

/** A stopped program must not delay the person who types. */
const SILENT_MS = 500;
/** Some shells run what a name contains, and a tool may have any name. */
const HARMLESS = /^[\w.@/][\w.@/-]*$/;

/** The names that can be completed, from all runs of this user. */
export async function names(kind: NameKind): Promise<readonly string[]> {
	const found = await namesOf(kind);
	return [...new Set(found)].filter((name) => HARMLESS.test(name)).toSorted();
}

async function namesOf(kind: NameKind): Promise<readonly string[]> {
	switch (kind) {
		case "runs":
			return (await findRuns()).map(({ runId }) => runId);
		case "dead-runs": {
			const runs = await Array.fromAsync(readHistory({ only: "living" }));
			return runs
				.filter(({ owner }) => !isAlive(owner))
				.map(({ runId }) => runId);
		}
		case "recorded-runs":
			return (await Array.fromAsync(readHistory())).map(({ runId }) => runId);
		case "pools":
			return await ofEachRun(poolsOf);
		case "workers":
			return await ofEachRun(async (client) => {
				const { run } = await client.state();
				return run.pools.flatMap(({ workers }) =>
					workers.map(({ workerId }) => workerId),
				);
			});
		case "tools":
			return await ofEachRun(async (client) => {
				const pools = await poolsOf(client);
				const all = await Promise.all(pools.map((pool) => client.tools(pool)));
				return all.flatMap((tools) => (tools ?? []).map(({ name }) => name));
			});
	}
}

async function poolsOf(client: ControlClient): Promise<readonly string[]> {
	const { run } = await client.state();
	return run.pools.map(({ pool }) => pool);
}

async function ofEachRun(
	ask: (client: ControlClient) => Promise<readonly string[]>,
): Promise<readonly string[]> {
	const runs = await findRuns();
	const by = `snakepit completion (pid ${process.pid})`;
	const answers = runs.map(async ({ runId }) => {
		try {
			using client = await attach({ run: runId, by, silentMs: SILENT_MS });
			return await ask(client);
		} catch {
			// The run has ended, or does not answer.
			return [];
		}
	});
	return (await Promise.all(answers)).flat();
}
