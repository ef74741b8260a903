import { createPool, type RunOptions } from "@snakepit/core";
import { EventRecorder } from "@snakepit/core/testing";
import { watchdog } from "@snakepit/watchdog";
import { afterEach, beforeEach, expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { EVENTS, telemetry } from "../../src/index.ts";
import {
	MemorySdk,
	milliseconds,
	type Series,
	unregister,
} from "../support/memory-sdk.ts";
import { allGone, startHost } from "./host.ts";
import { sleeper } from "./sleeper.ts";

let sdk: MemorySdk;
beforeEach(() => {
	sdk = new MemorySdk().register();
});
afterEach(unregister);

/** The events of protections in their order, and how long after `sinceMs` they happened. */
function exported(): readonly (readonly [string, number])[] {
	return sdk
		.logs()
		.filter(({ eventName }) => eventName?.startsWith("snakepit.protection."))
		.map(({ eventName = "", hrTime }) => [eventName, milliseconds(hrTime)]);
}

/** The series of a counter that are not at 0, at which they begin. */
async function counted(name: string): Promise<readonly Series[]> {
	return (await sdk.series(name)).filter(({ value }) => value > 0);
}

/** Every attribute that the catalogue has for an event of a protection; a guard does not measure how long it took to see a death. */
function catalogued(
	type: keyof typeof EVENTS,
	protection: string,
): readonly string[] {
	return [...EVENTS[type].attributes.keys()]
		.filter(
			(attribute) =>
				protection !== "guard" ||
				attribute !== "snakepit.protection.detection_time",
		)
		.sort();
}

function attributesOf(name: string): Readonly<Record<string, unknown>> {
	const record = sdk.logs().find(({ eventName }) => eventName === name);
	if (record === undefined) throw new Error(`No event ${name}.`);
	return record.attributes;
}

test.each([
	["watchdog", "reported"],
	["guard", "descent"],
] as const)(
	"what a %s did for a dead host is exported by the next start, with its times",
	{ timeout: 60_000 },
	async (name, foundBy) => {
		const dataDir = temporaryDirectory();
		const host = await startHost(dataDir, name);
		const fromMs = Date.now();
		await host.kill();
		await allGone(host.pids);
		const toMs = Date.now();

		const pool = await createPool({
			adapter: sleeper,
			...{ dataDir, guard: "off" },
			size: 1,
			instruments: [telemetry()],
		});
		await pool.close();
		const events = exported();
		expect(events.map(([event]) => event)).toEqual([
			"snakepit.protection.host_death_detected",
			"snakepit.protection.process_killed",
			"snakepit.protection.process_killed",
			"snakepit.protection.process_killed",
			"snakepit.protection.run_settled",
		]);
		for (const [, atMs] of events) {
			expect(atMs).toBeGreaterThanOrEqual(fromMs);
			expect(atMs).toBeLessThanOrEqual(toMs);
		}
		for (const type of [
			"protection.host_death_detected",
			"protection.process_killed",
			"protection.run_settled",
		] as const)
			expect(Object.keys(attributesOf(`snakepit.${type}`)).sort()).toEqual(
				catalogued(type, name),
			);
		expect(attributesOf("snakepit.protection.process_killed")).toMatchObject({
			"snakepit.protection.name": name,
			"snakepit.found_by": foundBy,
		});
		expect(attributesOf("snakepit.protection.run_settled")).toMatchObject({
			"snakepit.protection.killed": 3,
		});

		const settle = await sdk.span("protection settle");
		expect(milliseconds(settle.startTime)).toBeGreaterThanOrEqual(fromMs - 1);
		expect(milliseconds(settle.endTime)).toBeLessThanOrEqual(toMs);
		expect(await counted("snakepit.protection.activations")).toEqual([
			{ attributes: { "snakepit.protection.name": name }, value: 1 },
		]);
		expect(await counted("snakepit.protection.kills")).toEqual([
			{
				attributes: {
					"snakepit.protection.name": name,
					"snakepit.found_by": foundBy,
				},
				value: 3,
			},
		]);
	},
);

test.each<[string, RunOptions]>([
	["watchdog", { guard: "off", protections: [watchdog()] }],
	["guard", { guard: "required" }],
])(
	"the life of a %s is exported: its start, its loss, the next one, its end",
	{ timeout: 60_000 },
	async (name, protected_) => {
		const events = new EventRecorder();
		const pool = await createPool({
			adapter: sleeper,
			dataDir: temporaryDirectory(),
			size: 1,
			...protected_,
			instruments: [telemetry()],
			onEvent: events.record,
		});
		const [started] = events.of("protection.started");
		if (started === undefined) throw new Error("no protection");
		process.kill(started.pid, "SIGKILL");
		await events.waitFor(
			"protection.started",
			({ restarts }) => restarts === 1,
		);
		await pool.close();
		const own = sdk
			.logs()
			.filter(({ eventName }) => eventName?.startsWith("snakepit.protection."));
		expect(
			own.map(({ eventName, severityText, attributes }) => [
				eventName,
				severityText,
				attributes["snakepit.protection.restarts"] ??
					attributes["snakepit.reason"],
			]),
		).toEqual([
			["snakepit.protection.started", "INFO", 0],
			["snakepit.protection.ended", "ERROR", "lost"],
			["snakepit.protection.started", "WARN", 1],
			["snakepit.protection.ended", "INFO", "released"],
		]);
		expect(own[1]?.attributes).toMatchObject({
			"process.pid": started.pid,
			"snakepit.worker.exit.signal": "SIGKILL",
		});
		expect(Object.keys(own[0]?.attributes ?? {}).sort()).toEqual(
			catalogued("protection.started", name),
		);
	},
);

test("a protection that cannot work is exported with its reason", async () => {
	const pool = await createPool({
		adapter: sleeper,
		...{ dataDir: temporaryDirectory(), guard: "off" },
		size: 1,
		protections: [
			{
				name: "other",
				whenUnavailable: "start",
				settings: {},
				inspect: () => Promise.reject(new Error("not asked for")),
				engage: () => Promise.reject(new Error("it is not there")),
			},
		],
		instruments: [telemetry()],
	});
	await pool.close();
	expect(attributesOf("snakepit.protection.unavailable")).toEqual({
		"snakepit.protection.name": "other",
		"snakepit.reason": expect.stringContaining("it is not there"),
	});
});
