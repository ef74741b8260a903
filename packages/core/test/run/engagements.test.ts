import { beforeEach, expect, test } from "vitest";
import { OptionsError, StartError } from "../../src/errors.ts";
import type {
	Engagement,
	Protection,
	WatchedWorker,
} from "../../src/protection.ts";
import { Engagements } from "../../src/run/engagements.ts";
import { type VirtualWorld, virtualWorld } from "../../src/testing.ts";

let virtual: VirtualWorld;
let engagements: Engagements;
let told: string[];
beforeEach(() => {
	virtual = virtualWorld();
	const { clock, host, registry, random, events } = virtual;
	engagements = new Engagements({
		runId: registry.runId,
		host,
		clock,
		random,
		marker: "marker",
		dataDir: "/data",
		runDirectory: "/run",
		living: () => registry.living(),
		emit: events.record,
	});
	told = [];
});

function protection(
	name: string,
	fields: Partial<Protection> & { readonly source?: Engagement["source"] } = {},
): Protection {
	const { source, ...rest } = fields;
	return {
		name,
		whenUnavailable: "start",
		inspect: async () => ({ layer: name, status: "available", detail: "" }),
		engage: async () => {
			told.push(`${name} engaged`);
			return {
				...(source && { source }),
				watch: ({ incarnation }) => told.push(`${name} watches ${incarnation}`),
				unwatch: (incarnation) => told.push(`${name} leaves ${incarnation}`),
				release: async () => {
					told.push(`${name} released`);
				},
			};
		},
		...rest,
	};
}

function worker(incarnation: string): WatchedWorker {
	return { incarnation, identity: virtual.host.self, groupId: 7 };
}

test("each is engaged once, however many pools ask, and hears of every worker", async () => {
	await Promise.all([
		engagements.engage([protection("a")]),
		engagements.engage([protection("a"), protection("b")]),
	]);
	engagements.watch(worker("w1"));
	engagements.unwatch("w1");
	await engagements.release();
	await engagements.release();
	expect(told).toEqual([
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

test("one that comes later is told of the workers that live already", async () => {
	const { registry, host } = virtual;
	for (const incarnation of ["w1", "w2"])
		registry.reserve({
			incarnation,
			workerId: "w",
			pool: "p",
			fingerprint: "f",
			files: [],
		});
	registry.activate("w1", host.self, 7);
	await engagements.engage([protection("late")]);
	expect(told).toEqual(["late engaged", "late watches w1"]);
});

test("one that cannot work is told of, does not keep the pool from starting, and is tried again", async () => {
	const unavailable = protection("a", {
		engage: async () => {
			throw new Error("There is no python3.");
		},
	});
	expect(await engagements.engage([unavailable])).toBeUndefined();
	expect(virtual.events.events).toMatchObject([
		{
			type: "protection.unavailable",
			protection: "a",
			reason: "There is no python3.",
		},
	]);
	await engagements.engage([protection("a")]);
	expect(told).toEqual(["a engaged"]);
});

test("one that insists keeps the pool from starting, with the reason", async () => {
	const cause = new Error("There is no python3.");
	const insisting = protection("a", {
		whenUnavailable: "refuse",
		engage: async () => {
			throw cause;
		},
	});
	const error = await engagements.engage([insisting]).catch((e) => e);
	expect(error).toBeInstanceOf(StartError);
	expect(error).toMatchObject({ code: "PROTECTION_UNAVAILABLE", cause });
	expect(error.message).toContain("There is no python3.");
});

test("workers have one parent", async () => {
	const { source } = virtual.host;
	const a = protection("a", { source });
	expect(await engagements.engage([protection("c"), a])).toBe(source);
	const both = engagements.engage([a, protection("b", { source })]);
	await expect(both).rejects.toThrow(OptionsError);
	await expect(both).rejects.toThrow(/a and b/);
});
