import type { Pool } from "@snakepit/core";
import type { Instrument } from "@snakepit/core/instrument";
import { telemetry as attach } from "@snakepit/telemetry";
import {
	production,
	providers,
	setGlobals,
	sink,
	withCallMetrics,
} from "../../../packages/telemetry/bench/providers.ts";
import {
	type Case,
	type Figures,
	higher,
	lower,
	type Pace,
	type Setting,
} from "../case.ts";
import { openPool, ourName, ourVariants } from "../contestants/ours.ts";
import { keepCalling, median, ratesByTurns } from "../measure.ts";
import { SMALL_TEXT } from "./small-calls.ts";

const IN_FLIGHT = 16;
/** As short as the machine's moods, as long as hundreds of calls. */
const SLICE_MS = 200;

const MANNERS: Readonly<Record<string, () => Instrument>> = {
	"no SDK": () => attach(),
	"SDK as in production": () => attach(production()),
	"every call sampled": () => attach(withCallMetrics()),
	"every call sampled, an exporter that reads nothing": () =>
		attach(withCallMetrics(1, sink)),
	"every call sampled, one span each": () =>
		attach({ ...withCallMetrics(), spans: { queue: false, attempt: false } }),
	"1 call in 10 sampled by the SDK": () => attach(withCallMetrics(0.1)),
	"1 call in 10 sampled by command": () =>
		attach({ ...withCallMetrics(), commands: { "*": { traces: 0.1 } } }),
	"every call sampled, measured by the SDK": () => {
		setGlobals();
		return attach(providers());
	},
};

export const telemetry: Case = {
	name: "telemetry",
	title: "What telemetry costs",
	about: `${IN_FLIGHT} calls of 100 characters under way, in slices of ${SLICE_MS} ms by turns without and with telemetry, under several settings of OpenTelemetry's SDK, whose exporter reads every span and drops it. The worker has no SDK.`,
	figures: {
		calls_percent: higher("calls a second, of those without telemetry", "%"),
		more_cpu_us: lower("more host CPU a call", "us"),
	},
	rows: ourVariants.flatMap((variant) =>
		Object.entries(MANNERS).map(([manner, instrument]) => ({
			name: `${ourName(variant.name)}, ${manner}`,
			measure: async (setting: Setting) => {
				const one = { size: 1 } as const;
				await using without = await openPool(variant, setting, one);
				await using attached = await openPool(variant, setting, {
					...one,
					instruments: [instrument()],
				});
				return await compare(without, attached, setting.pace);
			},
		})),
	),
};

async function compare(
	without: Pool,
	attached: Pool,
	{ warmUpMs, measureMs }: Pace,
): Promise<Figures> {
	const slice = (pool: Pool, ms: number) =>
		keepCalling(() => pool.execute("echo", [SMALL_TEXT]), IN_FLIGHT, ms);
	await slice(without, warmUpMs);
	await slice(attached, warmUpMs);
	const rates = await ratesByTurns(
		[() => slice(without, SLICE_MS), () => slice(attached, SLICE_MS)],
		// As long for each of the two as any other row is measured, and twice that.
		Math.max(5, Math.ceil((2 * measureMs) / SLICE_MS)),
	);
	const calls = rates.map(
		([base, own]) => (own.callsPerSecond / base.callsPerSecond) * 100,
	);
	const more = rates.map(([base, own]) => own.cpuUs - base.cpuUs);
	return { calls_percent: median(calls), more_cpu_us: median(more) };
}
