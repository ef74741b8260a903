import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { metricsHandler } from "../../src/pool/observe/metrics-handler.ts";
import {
	BucketCounts,
	type MetricFamily,
	metricsText,
} from "../../src/pool/observe/metrics-text.ts";
import { CallFailures } from "../../src/pool/observe/pool-metrics.ts";
import { createPool, openRun } from "../../src/run/open-run.ts";
import { scripts } from "../../src/testing.ts";
import { Host, temporaryDirectory } from "../cleanup/hosts.ts";
import { lineAdapter } from "../control/line-adapter.ts";
import { outcome, virtualPool } from "./virtual-pool.ts";

/** Every series of a text, by its name with its labels. */
function seriesOf(text: string): Readonly<Record<string, number>> {
	return Object.fromEntries(
		text
			.split("\n")
			.filter((line) => line !== "" && !line.startsWith("#"))
			.map((line) => {
				const end = line.lastIndexOf(" ");
				return [line.slice(0, end), Number(line.slice(end + 1))];
			}),
	);
}

const SCRAPE = new Request("http://127.0.0.1/metrics");

const commands = {
	fail: scripts.fail,
	crash: scripts.crash,
	work: scripts.work,
};

test("the metrics of a pool are what happened in it since it was made, by outcome, code and reason", async () => {
	const { pool, clock } = await virtualPool({ commands }, { size: 2 });
	const before = seriesOf(pool.metricsText());
	const P = 'snakepit_pool_name="scripted"';
	const FAILED = `{${P},snakepit_call_outcome="failed",error_type="TOOL_FAILED"}`;
	expect(before).toMatchObject({
		[`snakepit_worker_count{${P},snakepit_worker_state="ready"}`]: 2,
		[`snakepit_worker_starts_total{${P}}`]: 2,
		[`snakepit_call_active{${P}}`]: 0,
		// Who watches sees the first failure.
		[`snakepit_call_failures_total{${P},error_type="TOOL_FAILED"}`]: 0,
		[`snakepit_call_settled_total{${P},snakepit_call_outcome="failed"}`]: 0,
		[`snakepit_worker_restart_budget_spent_total{${P}}`]: 0,
		[`snakepit_worker_min{${P}}`]: 2,
		[`snakepit_worker_max{${P}}`]: 2,
		[`snakepit_call_queue_limit{${P}}`]: 1_000,
		[`snakepit_worker_restarts_total{${P},snakepit_worker_end_reason="exited"}`]: 0,
	});

	const calls = [
		...[100, 100, 100, 2_000].map((ms) => pool.execute("work", ms)),
		outcome(pool.execute("fail", "no paper")),
		outcome(
			pool.execute("fail", "no ink", {
				retry: { attempts: 3, on: () => true },
			}),
		),
		outcome(pool.execute("crash")),
	];
	expect(seriesOf(pool.metricsText())).toMatchObject({
		[`snakepit_call_active{${P}}`]: 2,
		[`snakepit_call_queued{${P}}`]: 5,
	});
	await clock.advance(50);
	expect(seriesOf(pool.metricsText())).toMatchObject({
		[`snakepit_attempt_age_seconds{${P}}`]: 0.05,
	});
	await clock.advance(10_000);
	await Promise.all(calls);

	const SUCCEEDED = `${P},snakepit_call_outcome="succeeded"`;
	expect(seriesOf(pool.metricsText())).toMatchObject({
		[`snakepit_call_duration_seconds_count{${SUCCEEDED}}`]: 4,
		[`snakepit_call_duration_seconds_bucket{${SUCCEEDED},le="0.05"}`]: 0,
		[`snakepit_call_duration_seconds_bucket{${SUCCEEDED},le="0.1"}`]: 2,
		[`snakepit_call_duration_seconds_bucket{${SUCCEEDED},le="+Inf"}`]: 4,
		[`snakepit_call_duration_seconds_count${FAILED}`]: 2,
		[`snakepit_call_failures_total{${P},error_type="TOOL_FAILED"}`]: 2,
		[`snakepit_call_failures_total{${P},error_type="WORKER_EXITED"}`]: 1,
		[`snakepit_call_settled_total{${P},snakepit_call_outcome="succeeded"}`]: 4,
		[`snakepit_call_settled_total{${P},snakepit_call_outcome="failed"}`]: 3,
		[`snakepit_call_retries_total{${P},error_type="TOOL_FAILED"}`]: 2,
		[`snakepit_attempt_duration_seconds_count{${P}}`]: 9,
		[`snakepit_call_wait_time_seconds_count{${P}}`]: 9,
		[`snakepit_worker_restarts_total{${P},snakepit_worker_end_reason="exited"}`]: 1,
		[`snakepit_worker_exits_total{${P},snakepit_worker_end_reason="exited",snakepit_worker_exit_signal="SIGSEGV",snakepit_worker_end_killer="none"}`]: 1,
		[`snakepit_worker_starts_total{${P}}`]: 3,
		[`snakepit_worker_start_duration_seconds_count{${P}}`]: 3,
		[`snakepit_call_queued{${P}}`]: 0,
		snakepit_registry_unwritten: 0,
	});
});

test("a pool of real processes has their memory and processor time, and its run the commits of the ledger", async () => {
	await using pool = await createPool({
		...{ dataDir: temporaryDirectory(), adapter: lineAdapter(), name: "lines" },
		...{ size: 2, output: { echo: "none" } },
	});
	await pool.execute("echo", 1);
	const series = seriesOf(pool.metricsText());
	for (const slot of ["lines-0", "lines-1"]) {
		const labels = `{snakepit_pool_name="lines",snakepit_worker_id="${slot}"}`;
		expect(
			series[`snakepit_worker_memory_usage_bytes${labels}`],
		).toBeGreaterThan(1e6);
		// The kernel counts ticks of 10 ms, and a worker may have needed less.
		expect(
			series[`snakepit_worker_cpu_time_seconds_total${labels}`],
		).toBeGreaterThanOrEqual(0);
	}
	expect(series["snakepit_registry_commits_total"]).toBeGreaterThan(0);
	expect(series["snakepit_registry_commit_time_seconds_total"]).toBeGreaterThan(
		0,
	);
});

test("a run has the metrics of all its pools, and what is of the run once", async () => {
	await using run = await openRun({ dataDir: temporaryDirectory() });
	const own = seriesOf(run.metricsText());
	expect(Object.keys(own)).toContain("snakepit_registry_commits_total");
	const options = { adapter: lineAdapter(), size: 1 };
	const first = await run.createPool({ ...options, name: "first" });
	const second = await run.createPool({ ...options, name: "second" });
	const ready = (pool: string) =>
		`snakepit_worker_count{snakepit_pool_name="${pool}",snakepit_worker_state="ready"}`;
	const text = run.metricsText();
	expect(seriesOf(text)).toMatchObject({
		[ready("first")]: 1,
		[ready("second")]: 1,
		snakepit_registry_commits_total: run.statistics().registry.commits,
	});
	const heads = text.split("\n").filter((line) => line.startsWith("# TYPE"));
	expect(heads.length).toBe(new Set(heads).size);
	const served = metricsHandler([first, second])(SCRAPE);
	expect(seriesOf(await served.text())).toMatchObject({
		[ready("second")]: 1,
		snakepit_registry_commits_total: run.statistics().registry.commits,
	});
	const twice = metricsHandler([first, run, run])(SCRAPE);
	expect(seriesOf(await twice.text())[ready("first")]).toBe(1);
	await first.close();
	expect(Object.keys(seriesOf(run.metricsText()))).not.toContain(
		ready("first"),
	);
});

test("a run that found what a dead program left has its number, and when that was", async () => {
	const dataDir = temporaryDirectory();
	const dead = new Host({ dataDir, workers: ["sleeps.sh"] });
	await dead.up();
	await dead.kill();
	const beforeMs = Date.now();
	await using run = await openRun({ dataDir });
	const series = seriesOf(run.metricsText());
	expect(series).toMatchObject({
		snakepit_orphan_found_total: 1,
		'snakepit_orphan_killed_total{snakepit_found_by="ledger"}': 1,
	});
	expect(series["snakepit_orphan_last_seen_seconds"]).toBeGreaterThanOrEqual(
		Math.floor(beforeMs / 1_000),
	);
	await using clean = await openRun({ dataDir: temporaryDirectory() });
	expect(clean.metricsText()).not.toContain("snakepit_orphan_last_seen");
});

describe("the text", () => {
	test("escapes what labels and help contain, and adds up series that are the same", () => {
		const family: MetricFamily = {
			...{ name: "snakepit_test_total", type: "counter" },
			help: 'one \\ two\n"three"',
			samples: [{ labels: { error_type: 'a"b\\c\nd' }, value: 2 }],
		};
		const ofPool = () => ({
			...{ source: {}, runId: "r", families: [family], ofRun: [] },
		});
		expect(metricsText([ofPool(), ofPool()])).toBe(
			'# HELP snakepit_test_total one \\\\ two\\n"three"\n' +
				"# TYPE snakepit_test_total counter\n" +
				'snakepit_test_total{error_type="a\\"b\\\\c\\nd"} 4\n',
		);
	});

	test("of a histogram counts each bucket with those below it", () => {
		const counts = new BucketCounts([0.1, 1]);
		for (const ms of [50, 100, 100.1, 5_000]) counts.record(ms);
		expect(counts.samples({})).toEqual([
			{ suffix: "_bucket", labels: { le: "0.1" }, value: 2 },
			{ suffix: "_bucket", labels: { le: "1" }, value: 3 },
			{ suffix: "_bucket", labels: { le: "+Inf" }, value: 4 },
			{ suffix: "_sum", labels: {}, value: expect.closeTo(5.2501) },
			{ suffix: "_count", labels: {}, value: 4 },
		]);
	});

	test("of what is left of a histogram is exact, so that no counter ever becomes less", () => {
		const [all, failed] = [new BucketCounts(), new BucketCounts()];
		let before = 0;
		for (let n = 1; n <= 1_000; n++) {
			all.record(n / 3);
			if (n % 3 > 0) continue;
			all.record(n / 7);
			failed.record(n / 7);
			const sum = all.without([failed]).samples({}).at(-2)?.value ?? 0;
			expect(sum).toBeGreaterThanOrEqual(before);
			before = sum;
		}
		expect(all.without([failed]).count).toBe(1_000);
	});

	test("has a bounded number of series, however many codes an adapter has", () => {
		const failures = new CallFailures();
		const all = new BucketCounts();
		for (let n = 0; n < 10_000; n++) {
			failures.record("failed", `CODE_${n}`, 1);
			all.record(1);
		}
		const counts = failures
			.durations(all, {})
			.filter(({ suffix }) => suffix === "_count");
		expect(counts.length).toBeLessThan(60);
		expect(counts.reduce((sum, { value }) => sum + value, 0)).toBe(10_000);
		expect(counts.map(({ labels }) => labels["error_type"])).toContain(
			"_OTHER",
		);
	});

	// On Debian and Ubuntu: apt install prometheus.
	const hasPromtool =
		spawnSync("promtool", ["--version"], { stdio: "ignore" }).status === 0;
	test.skipIf(!hasPromtool)("is what promtool takes for correct", async () => {
		await using pool = await createPool({
			...{ dataDir: temporaryDirectory(), adapter: lineAdapter(), size: 1 },
			output: { echo: "none" },
		});
		await pool.execute("fail").catch(() => {});
		const { stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
			input: pool.metricsText(),
			encoding: "utf8",
		});
		// Names of OpenTelemetry, which dashboards and alerts have, end with it where something is counted now.
		const isKnown = (line: string) =>
			/^snakepit_(worker|session)_count .*"_count" suffix/.test(line);
		const said = `${stdout}${stderr}`.split("\n").filter((line) => line !== "");
		expect(said.filter((line) => !isKnown(line))).toEqual([]);
	});
});
