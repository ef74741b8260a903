import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import { openRun } from "../../src/index.ts";
import { SystemProcessHost } from "../../src/infrastructure.ts";
import { EventRecorder } from "../../src/testing.ts";
import { eventually } from "../cleanup/hosts.ts";

const CHILDREN = 30;

/** A program with many children, each in a session of its own: only their marker shows whose they are. */
const PARENT: Adapter = {
	name: "parent",
	launch: () => ({
		executable: "sh",
		args: [
			"-c",
			`for n in $(seq ${CHILDREN}); do setsid sh -c 'trap "" TERM; while :; do sleep 100000; done' & done; exec sleep 100000`,
		],
		lifeline: "off",
	}),
	connect: async () => ({
		execute: async () => undefined,
		[Symbol.asyncDispose]: async () => {},
	}),
};

async function openFor() {
	const dataDir = mkdtempSync(join(tmpdir(), "snakepit-left-"));
	onTestFinished(() => rmSync(dataDir, { recursive: true }));
	const events = new EventRecorder();
	const run = await openRun({ dataDir, guard: "off", onEvent: events.record });
	const marked = () =>
		machine.marked().filter(({ marker }) => marker.runId === run.runId);
	onTestFinished(() => {
		for (const { identity } of marked()) machine.signal(identity, "SIGKILL");
	});
	return { run, events, marked };
}

const machine = new SystemProcessHost();

test.each(["pool", "run"] as const)(
	"when the close of a %s resolves nothing of it lives, also what is only known by its marker",
	async (what) => {
		const { run, marked } = await openFor();
		const pool = await run.createPool({ name: "p", adapter: PARENT, size: 1 });
		await eventually("the children", () => marked().length > 2 * CHILDREN);
		await (what === "pool" ? pool : run).close({ manner: "forced" });
		expect(marked()).toEqual([]);
		if (what === "pool") await run.close();
	},
	60_000,
);
