import { fileURLToPath } from "node:url";
import type { ValuesReport } from "../../programs/large-values.ts";
import type { HostOrders } from "../../programs/orders.ts";
import type { ChaosCase, RoundOutcome } from "../harness/chaos-case.ts";
import type { Stage } from "../harness/stage.ts";
import { ALONE, withLayers } from "./layers.ts";

const TOOLS = fileURLToPath(
	new URL("../../programs/value_tools.py", import.meta.url),
);
const CALLS = 400;
const SIZE = 2;
/** Quick to try again, and never out of tries. */
const HEALS = { start: { maxRestarts: 100_000, backoffMs: 10 } };

type Transport = NonNullable<HostOrders["transport"]>;

export const largeValues: readonly ChaosCase[] = (
	["grpc", "framed"] as const
).flatMap((transport) =>
	[1, 3].map((callsPerWorker) =>
		withLayers(ALONE, {
			row: "large values arrive whole and stay as they are, whatever becomes of the calls around them",
			name: `${transport}: cancelled, out of time, crashed, forked, kept; calls a worker: ${callsPerWorker}`,
			rounds: 3,
			...(transport === "framed" && callsPerWorker > 1 ? { selected: 1 } : {}),
			round: (stage) => round(stage, transport, callsPerWorker),
		}),
	),
);

async function round(
	stage: Stage,
	transport: Transport,
	callsPerWorker: number,
): Promise<RoundOutcome> {
	const host = await stage.ready({
		size: SIZE,
		transport,
		program: TOOLS,
		pool: { ...HEALS, callsPerWorker },
	});
	const seed = Math.floor(stage.random.fraction() * 2 ** 31);
	host.order({ values: { seed, calls: CALLS } });
	const { compared, wrong, endings } = await host.told<ValuesReport>("values");
	const happened = ["ok", "CALL_ABORTED", "CALL_TIMEOUT", "WORKER_EXITED"];
	const missing = happened.filter((ending) => !endings[ending]);
	if (compared < CALLS / 4 || missing.length > 0)
		throw new Error(
			`${compared} values were compared, and no call ended as ${missing.join(", ") || "it should not"}: ${JSON.stringify(endings)}`,
		);
	return {
		broken: wrong.map((what) => `Not as it was: ${what}.`),
		...(await stage.killAfterwards(host)),
	};
}
