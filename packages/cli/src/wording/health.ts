import type { HealthSnapshot } from "@snakepit/control";

/** The health of pools together: each has to be well, and a program without a pool is not ready. */
export function healthOfAll(pools: readonly HealthSnapshot[]): HealthSnapshot {
	if (pools.length === 0)
		return {
			...{ live: true, ready: false },
			reasons: [
				{ code: "NO_POOL", pool: null, message: "The program has no pool." },
			],
		};
	return {
		live: pools.every(({ live }) => live),
		ready: pools.every(({ ready }) => ready),
		reasons: pools.flatMap(({ reasons }) => reasons),
	};
}

/** One line for the log of a supervisor. */
export function healthText({ live, ready, reasons }: HealthSnapshot): string {
	const state = `${live ? "live" : "not live"}, ${ready ? "ready" : "not ready"}`;
	const why = reasons.map(({ code, message }) => `${message} (${code})`);
	return [`${state}${why.length === 0 ? "." : ":"}`, ...why].join(" ");
}
