import { expect, test } from "vitest";
import { EVENTS, SPANS } from "../../src/index.ts";

/**
 * The events that the design of process management names, each with its
 * measurements and metadata, and where they are here.
 */
const DOCUMENTED = [
	{
		event: "heartbeat ping_sent",
		type: "heartbeat.sent",
		metrics: ["snakepit.heartbeat.sent"],
		attributes: [],
	},
	{
		event: "heartbeat pong_received",
		type: "heartbeat.answered",
		metrics: ["snakepit.heartbeat.answered", "snakepit.heartbeat.latency"],
		attributes: [],
	},
	{
		event: "heartbeat timeout",
		type: "heartbeat.missed",
		metrics: ["snakepit.heartbeat.missed"],
		attributes: [
			"snakepit.worker.id",
			"snakepit.heartbeat.missed_in_a_row",
			"snakepit.heartbeat.timeout",
		],
	},
	{
		event: "process started",
		type: "worker.ready",
		metrics: ["snakepit.worker.start.duration"],
		attributes: [
			"snakepit.worker.id",
			"process.pid",
			"snakepit.worker.start.duration",
		],
	},
	{
		event: "process terminated",
		type: "worker.exited",
		metrics: ["snakepit.worker.exits"],
		attributes: [
			"snakepit.worker.id",
			"process.exit.code",
			"snakepit.worker.end.reason",
			"snakepit.worker.uptime",
		],
	},
	{
		event:
			"process cleanup_completed, of one worker: how, and how long it took",
		type: "worker.exited",
		metrics: ["snakepit.worker.stop.duration"],
		attributes: ["snakepit.worker.id", "snakepit.worker.end.killer"],
	},
	{
		event: "process cleanup_completed, of dead programs",
		type: "cleanup.finished",
		metrics: ["snakepit.cleanup.duration"],
		attributes: [
			"snakepit.duration",
			"snakepit.cleanup.killed",
			"snakepit.cleanup.spared",
		],
	},
	{
		event: "watchdog started",
		type: "protection.started",
		metrics: [],
		attributes: ["snakepit.protection.name", "process.pid"],
	},
	{
		event: "watchdog beam_death_detected",
		type: "protection.host_death_detected",
		metrics: ["snakepit.protection.activations"],
		attributes: ["snakepit.protection.name", "snakepit.run.of", "process.pid"],
	},
	{
		event: "watchdog python_terminated",
		type: "protection.process_killed",
		metrics: ["snakepit.protection.kills"],
		attributes: [
			"snakepit.protection.name",
			"snakepit.worker.incarnation",
			"process.pid",
			"snakepit.signal",
		],
	},
	{
		event: "watchdog python_terminated: how long it took",
		type: "protection.run_settled",
		metrics: [],
		attributes: ["snakepit.duration", "snakepit.protection.killed"],
	},
] as const;

test.each(DOCUMENTED)("$event is $type", ({ type, metrics, attributes }) => {
	const {
		attributes: its = {},
		counts = {},
		metrics: others = [],
	} = EVENTS[type];
	const own = [...Object.keys(counts), ...others];
	expect(own).toEqual(expect.arrayContaining([...metrics]));
	expect(Object.keys(its)).toEqual(expect.arrayContaining([...attributes]));
});

test("the rungs of a clean-up are on the span of the stop", () => {
	expect(SPANS["worker stop"].events).toContain("stop step");
});
