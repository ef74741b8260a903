import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import { end, look } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";
import { killHost, OCCUPATIONS } from "./host-killed.ts";
import { ALONE, BOTH, GUARD, WATCHDOG, withLayers } from "./layers.ts";

const SIZE = 4;
/** How far two kills are apart at most: the second falls into what the first one set off. */
const APART_MS = 30;

type Party = "parent" | "host" | "worker";

/** Who is killed, in this order. */
const FATES: readonly (readonly Party[])[] = [
	["parent"],
	["parent", "host"],
	["host", "parent"],
	["parent", "worker"],
];

export const preloaded: readonly ChaosCase[] = [
	...[ALONE, BOTH].flatMap((protections) =>
		OCCUPATIONS.map(({ name, begins }) =>
			withLayers(protections, {
				row: "SIGKILL of the host, workers forked from a preloaded parent",
				name,
				rounds: 10,
				target: { p50Ms: 10, p99Ms: 100 },
				round: (stage) =>
					killHost(stage, { size: SIZE, preload: true }, begins),
			}),
		),
	),
	...[ALONE, WATCHDOG, GUARD, BOTH].flatMap((protections) =>
		FATES.map((parties) =>
			withLayers(protections, {
				row: "the preloaded parent is killed, alone or with the host or a worker",
				name: parties.join(", then "),
				rounds: 10,
				target: { maxMs: 1_000 },
				round: (stage) => killSome(stage, parties),
			}),
		),
	),
];

async function killSome(
	stage: Stage,
	parties: readonly Party[],
): Promise<RoundOutcome> {
	const host = await stage.ready({ size: SIZE, preload: true });
	await stage.sees("worker", SIZE);
	for (let worker = 0; worker < SIZE; worker++)
		await host.call("with_children");
	const { pid } = await host.told<{ pid: number }>("preload.started");
	const [worker = 0] = await host.told<readonly number[]>("ready");
	const victims = { parent: pid, host: host.pid, worker };
	const found = parties.map((party) => look(victims[party]));
	const at = performance.now();
	for (const [n, victim] of found.entries()) {
		if (n > 0 && stage.random.fraction() < 0.5)
			await sleep(stage.random.fraction() * APART_MS);
		if (victim) end(victim);
	}
	if (parties.includes("host")) return await stage.untilGone(at);
	// The host lives: its workers went with their parent, and others come from another one.
	await stage.sees("worker", 2 * SIZE);
	const whole = await stage.witness.until(
		() => stage.witness.living("worker").length === SIZE,
		5_000,
	);
	await host.call("pid", {}, SIZE);
	const broken = [
		...(whole
			? []
			: [
					`${stage.witness.living("worker").length} workers live, not ${SIZE}.`,
				]),
		...host
			.all<{ code: string }>("preload.unavailable")
			.map(({ code }) => `There was no other parent: ${code}.`),
	];
	return { ...(await stage.untilGone(host.kill())), broken };
}
