import {
	type MetricName,
	type NamingScheme,
	prometheusName,
} from "@snakepit/telemetry";

/** What one series is about: a pool of one program. */
export const BY_POOL = "job, instance, snakepit_pool_name";

/** Writes expressions of Prometheus in one naming scheme. */
export class Expressions {
	readonly #scheme: NamingScheme;
	/** Label matchers that every selector gets. */
	readonly #matchers: readonly string[];

	constructor(scheme: NamingScheme, matchers: readonly string[] = []) {
		this.#scheme = scheme;
		this.#matchers = matchers;
	}

	/** @param metric or one of a histogram's three, as `snakepit.call.duration_bucket`. */
	series(metric: string, ...matchers: readonly string[]): string {
		const [, base = metric, part = ""] =
			/^(.*?)(_bucket|_sum|_count)?$/.exec(metric) ?? [];
		const name = prometheusName(base as MetricName, this.#scheme);
		const all = [...this.#matchers, ...matchers].join(", ");
		return `${name}${part}${all === "" ? "" : `{${all}}`}`;
	}

	rate(metric: string, window: string, ...matchers: string[]): string {
		return `rate(${this.series(metric, ...matchers)}[${window}])`;
	}

	quantile(of: number, metric: string, window: string, by: string): string {
		const rate = this.rate(`${metric}_bucket`, window);
		return `histogram_quantile(${of}, sum by (le, ${by}) (${rate}))`;
	}

	/** Answered pings among those that were judged. */
	heartbeatSuccess(window: string, by: string): string {
		const answered = `sum by (${by}) (${this.rate("snakepit.heartbeat.answered", window)})`;
		const missed = `sum by (${by}) (${this.rate("snakepit.heartbeat.missed", window)})`;
		return `${answered} / (${answered} + ${missed})`;
	}

	/** Restarts that nobody wanted within an hour, per worker. */
	restartRatio(by: string): string {
		const unwanted = 'snakepit_worker_end_reason!~"closed|recycled|host_exit"';
		const restarts = this.series("snakepit.worker.restarts", unwanted);
		const workers = this.series("snakepit.worker.count");
		return `sum by (${by}) (increase(${restarts}[1h])) / sum by (${by}) (${workers})`;
	}
}
