import { beforeEach, expect, test } from "vitest";
import type {
	Engagement,
	Protection,
	ProtectionContext,
	WatchedWorker,
} from "../../src/contract/protection.ts";
import { openRun } from "../../src/run/open-run.ts";
import { Engagements } from "../../src/run/start-run.ts";
import {
	type VirtualWorld,
	virtualWorld,
} from "../../src/testing/virtual-pool.ts";
import { EventRecorder } from "../../src/testing.ts";
import { reserveWorker } from "../cleanup/crafted-run.ts";
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
	const incarnation = reserveWorker(registry);
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

let virtual: VirtualWorld;
let engagements: Engagements;
let messages: string[];
beforeEach(() => {
	virtual = virtualWorld();
	const { clock, host, registry, events } = virtual;
	engagements = new Engagements({
		runId: registry.runId,
		host,
		clock,
		marker: "marker",
		dataDir: "/data",
		runDirectory: "/run",
		living: () => registry.living(),
		emit: events.record,
	});
	messages = [];
});

function protection(
	name: string,
	fields: Partial<Protection> = {},
): Protection {
	return {
		name,
		whenUnavailable: "start",
		inspect: async () => ({ layer: name, status: "available", detail: "" }),
		engage: async () => {
			messages.push(`${name} engaged`);
			return {
				watch: ({ incarnation }) =>
					messages.push(`${name} watches ${incarnation}`),
				unwatch: (incarnation) =>
					messages.push(`${name} leaves ${incarnation}`),
				release: async () => {
					messages.push(`${name} released`);
				},
			};
		},
		...fields,
	};
}

function worker(incarnation: string): WatchedWorker {
	return { incarnation, identity: virtual.host.self, groupId: 7 };
}

test("all of them are called with every worker in the order in which they are given, and released at the end", async () => {
	await engagements.engage([protection("a"), protection("b")]);
	engagements.watch(worker("w1"));
	engagements.unwatch("w1");
	await engagements.release();
	expect(messages).toEqual([
		"a engaged",
		"b engaged",
		"a watches w1",
		"b watches w1",
		"a leaves w1",
		"b leaves w1",
		"a released",
		"b released",
	]);
});

test("one that cannot work is reported, and the run opens without it", async () => {
	const unavailable = protection("a", {
		engage: async () => {
			throw new Error("There is no python3.");
		},
	});
	await engagements.engage([unavailable, protection("b")]);
	expect(virtual.events.events).toMatchObject([
		{
			type: "protection.unavailable",
			protection: "a",
			reason: "There is no python3.",
		},
	]);
	expect(messages).toEqual(["b engaged"]);
});

test("one that never answers holds neither the opening nor the end of a run, and is released when it comes late", async () => {
	const coming = Promise.withResolvers<Engagement>();
	const late = protection("a", { engage: () => coming.promise });
	const stuck = protection("b", {
		engage: async () => ({ release: () => new Promise(() => {}) }),
	});
	const { clock, events } = virtual;
	await clock.advanceUntil(engagements.engage([late, stuck]));
	expect(events.of("protection.unavailable")).toMatchObject([
		{
			protection: "a",
			reason: "Its engage() did not settle within 60000 ms.",
		},
	]);
	coming.resolve({ release: async () => void messages.push("a released") });
	await clock.advance(0);
	expect(messages).toEqual(["a released"]);
	await clock.advanceUntil(engagements.release());
	expect(events.of("listener.threw")).toMatchObject([{ of: "b.release" }]);
});

test("one that throws where it must not is reported, and the others go on", async () => {
	const throwing = (): never => {
		throw new Error("on purpose");
	};
	const bad = protection("a", {
		engage: async () => ({
			...{ watch: throwing, unwatch: throwing },
			release: () => Promise.reject(new Error("on purpose")),
		}),
	});
	await engagements.engage([bad, protection("b")]);
	engagements.watch(worker("w1"));
	engagements.unwatch("w1");
	await engagements.release();
	expect(messages).toEqual([
		"b engaged",
		"b watches w1",
		"b leaves w1",
		"b released",
	]);
	expect(virtual.events.of("listener.threw").map(({ of }) => of)).toEqual([
		"a.watch",
		"a.unwatch",
		"a.release",
	]);
});
