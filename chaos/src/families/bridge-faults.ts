import { setTimeout as sleep } from "node:timers/promises";
import {
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
	unless,
} from "../case.ts";
import { grown, signal, vitalSigns } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";

/** What a host may grow by for a fault of the bridge, beside twice the result. */
const FAULT_GROWTH_MB = 120;
const RESULT_MB = 40;
const HUNG_SOON = { heartbeat: { intervalMs: 100, hungAfterMs: 1_500 } };
/** The worker died, hung, or was replaced: no other code is allowed. */
const TYPED = ["ok", "WORKER_EXITED", "WORKER_HUNG", "WORKER_REPLACED"];

const LARGE = [
	"large_result",
	{ megabytes: RESULT_MB },
	async (stage: Stage, pid: number) => {
		await sleep(20 + stage.chance.fraction() * 30);
		process.kill(pid, "SIGSTOP");
	},
] as const;

export const bridgeFaults: readonly ChaosCase[] = family(
	"faults of the bridge: a typed error, the worker is replaced, the host stays small",
	[GUARD],
	(["grpc", "framed"] as const).flatMap((transport) =>
		[
			...["malformed", "oversized", "noise"].map((kind) => ({
				name: `the worker writes onto the stream: ${kind}`,
				...(kind === "malformed" && { selected: 1 }),
				round: fault(transport, "speak_nonsense", { kind }),
			})),
			{
				name: "half-open: the worker is stopped while it runs a call",
				round: fault(transport, "sleep", {}, async (stage, pid) => {
					await stage.sees("begun", 1);
					process.kill(pid, "SIGSTOP");
				}),
			},
			{
				name: `the worker is stopped in the middle of a result of ${RESULT_MB} MB`,
				round: fault(transport, ...LARGE),
			},
			{
				name: `a result of ${RESULT_MB} MB trickles: the worker runs a millisecond of every twenty`,
				rounds: 3,
				round: (stage: Stage) => trickle(stage, transport),
			},
		].map(({ name, ...entry }) => ({
			rounds: 5,
			...entry,
			name: `${transport}: ${name}`,
		})),
	),
);

type Transport = "grpc" | "framed";

async function openForFault(stage: Stage, transport: Transport) {
	const host = await stage.ready({ size: 1, transport, pool: HUNG_SOON });
	const [pid = 0] = await host.workers();
	return { host, pid, before: vitalSigns(host.pid).residentMb };
}

/** The call fails as one whose worker is lost, and another worker takes the next. */
function fault(
	transport: Transport,
	tool: string,
	args: unknown,
	afterwards: (stage: Stage, pid: number) => Promise<void> = async () => {},
) {
	return async (stage: Stage): Promise<RoundOutcome> => {
		const { host, pid, before } = await openForFault(stage, transport);
		const ended = host.codeOf(tool, args);
		await afterwards(stage, pid);
		const code = await ended;
		await host.fact("worker.exited");
		await host.call("pid", {}, 10);
		return {
			broken: [
				...unless(TYPED.includes(code), `It failed as ${code}.`),
				...grown(host.pid, before, FAULT_GROWTH_MB + 2 * RESULT_MB),
			],
			...(await stage.killAfterwards(host)),
		};
	};
}

/** Slow is not dead: the call succeeds, or the worker is judged hung, and nothing in between. */
async function trickle(
	stage: Stage,
	transport: Transport,
): Promise<RoundOutcome> {
	const { host, pid, before } = await openForFault(stage, transport);
	const ended = host.codeOf("large_result", { megabytes: RESULT_MB });
	const gone = (): boolean => host.facts("worker.exited").length > 0;
	while (!gone() && !(await Promise.race([ended, sleep(1, "")]))) {
		signal(pid, "SIGSTOP");
		await sleep(20);
		signal(pid, "SIGCONT");
	}
	await ended;
	await host.call("pid", {}, 10);
	return {
		broken: grown(host.pid, before, FAULT_GROWTH_MB + 2 * RESULT_MB),
		...(await stage.killAfterwards(host)),
	};
}
