import type {
	CallInstrument,
	Instrument,
} from "../../src/contract/instrument.ts";

/** Records each of its calls. */
export function diary(name = ""): Instrument & { readonly calls: string[] } {
	const calls: string[] = [];
	const record = (what: string): void => void calls.push(`${name}${what}`);
	const call: CallInstrument = {
		queued: () => record("queued"),
		dispatched: ({ attempt, workerId, pid }) => {
			record(`dispatched ${attempt} ${workerId} ${typeof pid}`);
			return {
				traceContext: { [`x${name}`]: `${attempt}` },
				backCall: async ({ function: of }, run) => {
					record(`back-call ${of}`);
					return await run();
				},
				cancelled: ({ code }) => record(`cancelled ${code}`),
				released: (error) => record(`released ${error?.code}`),
			};
		},
		retried: ({ code }) => record(`retried ${code}`),
		settled: (error) => record(`settled ${error?.code}`),
	};
	return {
		calls,
		attach: ({ name: pool, adapter }) => {
			record(`attach ${pool} ${adapter}`);
			return {
				hear: () => {},
				watch: (observed) =>
					record(`watch ${observed.look().workers.ready} ready`),
				accept: ({ command, shape, traceContext }) => {
					record(`accept ${command} ${shape} ${Object.keys(traceContext)}`);
					return call;
				},
				detach: () => record("detach"),
			};
		},
	};
}
