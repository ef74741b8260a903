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
	type Row,
} from "../case.ts";
import {
	type OurVariant,
	openPool,
	ourName,
	ourVariants,
} from "../contestants/ours.ts";
import { type CallRate, keepCalling, median } from "../measure.ts";
import { SMALL_TEXT } from "./small-call.ts";

const IN_FLIGHT = 16;
/** As short as the machine's moods, as long as hundreds of calls. */
const SLICE_MS = 200;

interface Manner {
	readonly name: string;
	instrument(): Instrument;
}

const manners: readonly Manner[] = [
	{ name: "no SDK", instrument: () => attach() },
	{
		name: "SDK as in production",
		instrument: () => attach(production()),
	},
	{
		name: "every call sampled",
		instrument: () => attach(withCallMetrics()),
	},
	{
		name: "every call sampled, an exporter that reads nothing",
		instrument: () => attach(withCallMetrics(1, sink)),
	},
	{
		name: "every call sampled, one span each",
		instrument: () =>
			attach({ ...withCallMetrics(), spans: { queue: false, attempt: false } }),
	},
	{
		name: "1 call in 10 sampled by the SDK",
		instrument: () => attach(withCallMetrics(0.1)),
	},
	{
		name: "1 call in 10 sampled by command",
		instrument: () => {
			const commands = { "*": { traces: 0.1 } };
			return attach({ ...withCallMetrics(), commands });
		},
	},
	{
		name: "every call sampled, measured by the SDK",
		instrument: () => {
			setGlobals();
			return attach(providers());
		},
	},
];

export const telemetry: Case = {
	name: "telemetry",
	title: "What telemetry costs",
	about: `${IN_FLIGHT} calls of 100 characters under way, in slices of ${SLICE_MS} ms by turns without and with telemetry, under several settings of OpenTelemetry's SDK, whose exporter reads every span and drops it. The worker has no SDK.`,
	figures: {
		calls_percent: higher("calls a second, of those without telemetry", "%"),
		more_cpu_us: lower("more host CPU a call", "us"),
	},
	rows: ourVariants.flatMap((variant) =>
		manners.map((manner) => rowFor(variant, manner)),
	),
};

function rowName(variant: OurVariant, manner: Manner): string {
	return `${ourName(variant.name)}, ${manner.name}`;
}

function rowFor(variant: OurVariant, manner: Manner): Row {
	return {
		name: rowName(variant, manner),
		measure: async (setting) => {
			const size = { size: 1 } as const;
			await using without = await openPool(variant, setting, size);
			await using attached = await openPool(variant, setting, {
				...size,
				instruments: [manner.instrument()],
			});
			return await compare(without, attached, setting.pace);
		},
	};
}

async function compare(
	without: Pool,
	attached: Pool,
	{ warmUpMs, measureMs }: Pace,
): Promise<Figures> {
	const slice = (pool: Pool, ms: number) =>
		keepCalling(() => pool.execute("echo", [SMALL_TEXT]), IN_FLIGHT, ms);
	await slice(without, warmUpMs);
	await slice(attached, warmUpMs);
	const shares: number[] = [];
	const more: number[] = [];
	// As long for each of the two as any other row is measured, and twice that.
	const pairs = Math.max(5, Math.ceil((2 * measureMs) / SLICE_MS));
	for (let pair = 0; pair < pairs; pair++) {
		// By turns also who is first, or whatever comes in waves would be one's own.
		const order = pair % 2 === 0 ? [without, attached] : [attached, without];
		const slices = new Map<Pool, CallRate>();
		for (const pool of order) slices.set(pool, await slice(pool, SLICE_MS));
		const [base, own] = [slices.get(without), slices.get(attached)];
		if (base === undefined || own === undefined) continue;
		shares.push((own.callsPerSecond / base.callsPerSecond) * 100);
		more.push(own.cpuUs - base.cpuUs);
	}
	return {
		calls_percent: median(shares),
		more_cpu_us: median(more),
	};
}
