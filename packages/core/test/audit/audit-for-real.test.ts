import { expect, onTestFinished, test } from "vitest";
import type { AuditRule, AuditStatistics } from "../../src/audit/auditor.ts";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import { openRun } from "../../src/run/open-run.ts";
import type { Run } from "../../src/run/run.ts";
import { start } from "../cleanup/bench.ts";
import { reserveWorker } from "../cleanup/crafted-run.ts";
import {
	eventually,
	isAlive,
	machine,
	temporaryDirectory,
} from "../cleanup/hosts.ts";

const INTERVAL_MS = 100;

async function acquire(
	dataDir: string,
	audit: AuditRule | undefined,
	emit: (event: SnakepitEvent) => void = () => {},
): Promise<Run> {
	const run = await openRun({
		dataDir,
		...(audit && { audit }),
		onEvent: emit,
	});
	const release = run.infrastructure.host.keepAlive();
	onTestFinished(async () => {
		release();
		await run.close();
	});
	return run;
}

/** Starts a worker of the run that leaves a daemon with its environment behind, and ends. Returns the daemon's pid. */
async function leaveDaemon(run: Run): Promise<number> {
	const { registry } = run.infrastructure;
	const incarnation = reserveWorker(registry, {
		fingerprint: "leaves-its-group",
	});
	const worker = await start(
		"leaves-its-group.cjs",
		run.infrastructure.marker,
		incarnation,
	);
	registry.activate(incarnation, worker.identity, worker.groupId);
	const exit = await worker.exited;
	const daemon = machine
		.marked()
		.find((process) => process.incarnation === incarnation);
	if (daemon === undefined) throw new Error("There is no daemon.");
	onTestFinished(() => void machine.signal(daemon.identity, "SIGKILL"));
	registry.end(incarnation, { exit, reason: "exited", killer: "none" });
	return daemon.identity.pid;
}

test("a daemon that escaped from a worker and keeps its environment is found, and ended where that was asked for", async () => {
	const events: SnakepitEvent[] = [];
	const dataDir = temporaryDirectory();
	const audit = { intervalMs: INTERVAL_MS, strays: "killed" } as const;
	const run = await acquire(dataDir, audit, (event) => events.push(event));
	const pid = await leaveDaemon(run);
	await eventually("the end of the daemon", () => !isAlive(pid));
	await eventually(
		"its being reported",
		() => run.statistics().audit.straysKilled === 1,
	);
	expect(events.filter(({ type }) => type.startsWith("audit."))).toMatchObject([
		{ type: "audit.stray_found", pid, of: "ended", name: "sleep" },
		{ type: "audit.stray_killed", pid, how: "ended_on_term" },
	]);
	expect(run.statistics().audit).toMatchObject({ straysFound: 1, vanished: 0 });
});

test("strays are only reported unless the run was opened to kill them", async () => {
	const reporting = { intervalMs: INTERVAL_MS, strays: "reported" } as const;
	const run = await acquire(temporaryDirectory(), reporting);
	const pid = await leaveDaemon(run);
	const audit = (): AuditStatistics => run.statistics().audit;
	await eventually("its being found", () => audit().straysFound === 1);
	const { looks } = audit();
	await eventually("some looks more", () => audit().looks > looks + 2);
	expect(isAlive(pid)).toBe(true);
	process.kill(pid, "SIGKILL");
});

test("without a word about it a run is audited twice a minute", async () => {
	const run = await acquire(temporaryDirectory(), undefined);
	expect(run.statistics().audit).toMatchObject({ looks: 0 });
});
