import { expect, test } from "vitest";
import type {
	Protection,
	ProtectionContext,
} from "../../src/contract/protection.ts";
import { openRun } from "../../src/run/open-run.ts";
import { EventRecorder } from "../../src/testing.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

function recording(
	calls: string[],
	contexts: ProtectionContext[] = [],
): Protection {
	return {
		name: "recording",
		whenUnavailable: "refuse",
		inspect: async () => ({
			layer: "recording",
			status: "available",
			detail: "",
		}),
		engage: async (context) => {
			contexts.push(context);
			return {
				watch: ({ incarnation }) => calls.push(`watches ${incarnation}`),
				unwatch: (incarnation) => calls.push(`leaves ${incarnation}`),
				release: async () => {
					calls.push(`released, run is over: ${context.living().length === 0}`);
				},
			};
		},
	};
}

test("a protection is called with each worker in the turn of its record, and at its end, whichever pool it belongs to", async () => {
	const dataDir = temporaryDirectory();
	const calls: string[] = [];
	const contexts: ProtectionContext[] = [];
	const { record } = new EventRecorder();
	const asking = await openRun({
		dataDir,
		protections: [recording(calls, contexts)],
		onEvent: record,
	});
	const other = await openRun({
		dataDir,
		onEvent: record,
	});
	const { registry, host } = other.infrastructure;
	const incarnation = registry.nextIncarnation();
	registry.reserve({
		incarnation,
		workerId: "w-0",
		pool: "w",
		fingerprint: "x",
		files: [],
	});
	registry.activate(incarnation, host.self, host.self.pid);
	expect(calls).toEqual([`watches ${incarnation}`]);
	registry.end(incarnation, {
		exit: undefined,
		reason: "exited",
		killer: "none",
	});
	await asking.close();
	expect(calls).toEqual([`watches ${incarnation}`, `leaves ${incarnation}`]);
	await Promise.all([other.close(), other.close()]);
	expect(calls.slice(2)).toEqual(["released, run is over: true"]);
	expect(contexts).toMatchObject([
		{
			runId: registry.runId,
			marker: asking.infrastructure.marker,
			runDirectory: asking.infrastructure.runDirectory,
		},
	]);
});

test("a protection that insists and cannot work leaves no run behind", async () => {
	const dataDir = temporaryDirectory();
	const { events, record } = new EventRecorder();
	const failing: Protection = {
		...recording([]),
		engage: () => Promise.reject(new Error("no")),
	};
	const acquired = openRun({
		...{ dataDir, guard: "off" },
		protections: [failing],
		onEvent: record,
	});
	await expect(acquired).rejects.toMatchObject({
		code: "PROTECTION_UNAVAILABLE",
	});
	expect(events.map(({ type }) => type)).toEqual([
		"run.started",
		"cleanup.started",
		"cleanup.finished",
		"protection.unavailable",
		"run.ended",
	]);
});
