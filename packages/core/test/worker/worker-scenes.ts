import type { WorkerLostError } from "../../src/contract/errors.ts";
import type { FakeProcess } from "../../src/testing/fake-process.ts";
import { neverConnects } from "../../src/testing/scripted-adapter.ts";
import type { ScriptedAdapterOptions } from "../../src/testing.ts";
import type { Attempt, AttemptView } from "../../src/worker/running-calls.ts";
import type { Worker } from "../../src/worker/worker.ts";
import {
	type BenchOptions,
	type BenchSetting,
	type WorkerBench,
	workerBench,
} from "./worker-bench.ts";

/** A call that keeps the errors it is lost with. */
export class Call implements Attempt {
	readonly callId: string;
	readonly command: string;
	readonly losses: WorkerLostError[] = [];
	readonly startedMs = 0;
	expectsAnswer = false;
	constructor(callId = "c1", command = "work") {
		this.callId = callId;
		this.command = command;
	}
	view(): AttemptView {
		const { callId } = this;
		const about = { command: "echo", shape: "unary" as const, args: undefined };
		const times = { startedMs: 0, reportedMs: undefined, waitedMs: 0 };
		const attempt = { attempt: 1, failed: [], sessionId: undefined };
		return { callId, ...about, ...times, ...attempt, caller: "waits" };
	}
	lost(error: WorkerLostError): void {
		this.losses.push(error);
	}
}

/** One worker and its process. */
export interface Scene extends WorkerBench {
	readonly worker: Worker;
	readonly process: FakeProcess;
}

export async function readyScene(
	script: ScriptedAdapterOptions = {},
	options: BenchOptions = {},
	setting: BenchSetting = {},
): Promise<Scene> {
	const bench = workerBench(script, options, setting);
	const [worker, process] = await bench.ready();
	return { ...bench, worker, process };
}

/** The same in a world that is set so. */
export function readySceneWith(setting: BenchSetting): Promise<Scene> {
	return readyScene({}, {}, setting);
}

/** A worker whose adapter never gets to it. */
export async function startingScene(
	script: ScriptedAdapterOptions = {},
): Promise<Scene> {
	const bench = workerBench({ ...script, connect: neverConnects });
	const worker = bench.addWorker();
	void bench.start(worker);
	await bench.clock.settle();
	return { ...bench, worker, process: bench.host.started[0] as FakeProcess };
}

/** A worker that runs a call, and takes its time to die. */
export async function occupiedScene(call: Call): Promise<Scene> {
	const scene = await readyScene();
	scene.worker.calls.add(call);
	scene.process.endDelayMs = 10;
	return scene;
}
