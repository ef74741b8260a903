import { setTimeout as sleep } from "node:timers/promises";
import type { HostOrders } from "../../programs/orders.ts";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { HostProcess } from "../harness/host-process.ts";
import type { Stage } from "../harness/stage.ts";
import { vitalSigns } from "../harness/vital-signs.ts";
import { ALONE, withLayers } from "./layers.ts";

const ROW =
	"faults of the bridge: a typed error, the worker is replaced, the host stays small";
/** What a host may grow by for a fault. */
const GROWTH_MB = 120;
const RESULT_MB = 40;
const POOL = {
	heartbeat: {
		intervalMs: 100,
		hungAfterMs: 1_500,
		missedPings: 3,
		pingTimeoutMs: 300,
	},
};
type Transport = NonNullable<HostOrders["transport"]>;
/** The worker died, hung, or was replaced: nothing vaguer. */
const TYPED = new Set(["WORKER_EXITED", "WORKER_HUNG", "WORKER_REPLACED"]);

export const bridgeFaults: readonly ChaosCase[] = [
	...faultsOver("grpc"),
	...faultsOver("framed"),
];

function faultsOver(transport: Transport): readonly ChaosCase[] {
	return [
		...["malformed", "oversized", "noise"].map((kind) =>
			withLayers(ALONE, {
				row: ROW,
				name: `${transport}: the worker writes onto the stream: ${kind}`,
				rounds: 5,
				...(kind === "malformed" ? { selected: 1 } : {}),
				round: (stage) =>
					fault(stage, transport, {
						call: "speak_nonsense",
						args: { kind },
					}),
			}),
		),
		withLayers(ALONE, {
			row: ROW,
			name: `${transport}: half-open: the worker is stopped while it runs a call`,
			rounds: 5,
			round: (stage) =>
				fault(stage, transport, { call: "sleep" }, async (pid) => {
					await stage.sees("begun", 1);
					process.kill(pid, "SIGSTOP");
				}),
		}),
		withLayers(ALONE, {
			row: ROW,
			name: `${transport}: the worker is stopped in the middle of a result of ${RESULT_MB} MB`,
			rounds: 5,
			round: (stage) =>
				fault(
					stage,
					transport,
					{ call: "large_result", args: { megabytes: RESULT_MB } },
					async (pid) => {
						await sleep(20 + stage.random.fraction() * 30);
						process.kill(pid, "SIGSTOP");
					},
				),
		}),
		withLayers(ALONE, {
			row: ROW,
			name: `${transport}: a result of ${RESULT_MB} MB trickles: the worker runs a millisecond of every twenty`,
			rounds: 3,
			round: (stage) => trickle(stage, transport),
		}),
	];
}

/** The call fails as one whose worker is lost, and another worker takes the next. */
async function fault(
	stage: Stage,
	transport: Transport,
	order: { readonly call: string; readonly args?: unknown },
	afterwards: (pid: number) => Promise<void> = async () => {},
): Promise<RoundOutcome> {
	const { host, pid, before } = await open(stage, transport);
	host.order({ ...order, id: "fault", times: 1 });
	await afterwards(pid);
	await Promise.race([
		host.told<string>("failed", 60_000, (id) => id === "fault"),
		host.told<string>("done", 60_000, (id) => id === "fault"),
	]);
	const [code] = host.all<string>("code");
	const broken =
		code === undefined || TYPED.has(code) ? [] : [`It failed as ${code}.`];
	await host.told("worker.exited");
	await host.call("pid", {}, 10);
	return {
		broken: [...broken, ...grown(host, before)],
		...(await stage.killAfterwards(host)),
	};
}

/** Slow is not dead: the call succeeds, or the worker is judged hung, and nothing in between. */
async function trickle(
	stage: Stage,
	transport: Transport,
): Promise<RoundOutcome> {
	const { host, pid, before } = await open(stage, transport);
	const args = { megabytes: RESULT_MB };
	host.order({ id: "slow", call: "large_result", args, times: 1 });
	const settled = Promise.race([
		host.told<string>("done", 60_000, (id) => id === "slow"),
		host.told<string>("failed", 60_000, (id) => id === "slow"),
	]).then(() => true);
	const gone = (): boolean => host.all("worker.exited").length > 0;
	while (!gone() && !(await Promise.race([settled, sleep(1, false)]))) {
		signal(pid, "SIGSTOP");
		await sleep(20);
		signal(pid, "SIGCONT");
	}
	await settled;
	await host.call("pid", {}, 10);
	return {
		broken: grown(host, before),
		...(await stage.killAfterwards(host)),
	};
}

async function open(stage: Stage, transport: Transport) {
	const host = await stage.ready({ size: 1, transport, pool: POOL });
	const [pid = 0] = await host.told<readonly number[]>("ready");
	return { host, pid, before: vitalSigns(host.pid).residentMb };
}

/** The worker may have been replaced meanwhile. */
function signal(pid: number, name: "SIGSTOP" | "SIGCONT"): void {
	try {
		process.kill(pid, name);
	} catch {
		// Gone.
	}
}

function grown(host: HostProcess, beforeMb: number): readonly string[] {
	const { peakMb } = vitalSigns(host.pid);
	return peakMb - beforeMb <= GROWTH_MB + 2 * RESULT_MB
		? []
		: [
				`The host grew from ${Math.round(beforeMb)} to ${Math.round(peakMb)} MB.`,
			];
}
