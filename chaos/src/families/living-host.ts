import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import {
	BOTH,
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
} from "../case.ts";
import type { HostProcess } from "../harness/host-process.ts";
import { lives } from "../harness/processes.ts";
import type { Stage } from "../harness/stage.ts";

const SIZE = 2;
const STOPPED_MS = 4_000;
/** Hung after a second, so that a short stop is enough for a mistake. */
const HUNG_SOON = { heartbeat: { intervalMs: 100, hungAfterMs: 1_000 } };

/** What happens to a living host: its workers must not be ended because of it. */
const STOPS: Readonly<
	Record<string, (host: HostProcess, stage: Stage) => Promise<unknown>>
> = {
	"the host is stopped while results are in transit": async (
		host,
		{ chance },
	) => {
		host.call("large_result", { megabytes: 8 }, 0, 40);
		await sleep(chance.fraction() * 1_000);
		host.child.kill("SIGSTOP");
		await sleep(STOPPED_MS);
		host.child.kill("SIGCONT");
	},
	"the host's event loop is blocked": (host) => host.order("block", STOPPED_MS),
	"a debugger holds the host at a breakpoint": holdAtBreakpoint,
	"host, workers and protections are stopped, as by a suspend": async (
		_,
		stage,
	) => {
		const everything = stage.everything();
		for (const { pid } of everything) process.kill(pid, "SIGSTOP");
		await sleep(STOPPED_MS);
		for (const { pid } of everything) process.kill(pid, "SIGCONT");
	},
};

export const livingHost: readonly ChaosCase[] = family(
	`a living host is not judged dead, and its workers are not judged hung: ${STOPPED_MS / 1_000} s, hung would be after 1 s`,
	[GUARD, BOTH],
	Object.entries(STOPS).map(([name, stop], index) => ({
		name,
		with: index === 0 ? [GUARD, BOTH] : [GUARD],
		...{ parallel: 5, waits: true, selected: GUARD },
		round: (stage) => endure(stage, stop),
	})),
);

/** Any worker that was ended or replaced was ended by mistake: all were healthy. */
async function endure(
	stage: Stage,
	stop: (host: HostProcess, stage: Stage) => Promise<unknown>,
): Promise<RoundOutcome> {
	const host = await stage.ready(
		{ size: SIZE, pool: HUNG_SOON },
		{ nodeArguments: ["--inspect=127.0.0.1:0"] },
	);
	await stage.sees("worker", SIZE);
	const workers = stage.exits.living("worker").map(({ process }) => process);
	await stop(host, stage);
	// Time for a wrong verdict.
	await sleep(2_500);
	await host.call("pid");
	const ended = workers.filter((each) => each && !lives(each)).length;
	const exits = host.facts("worker.exited");
	return {
		falseKills: Math.max(ended, exits.length),
		broken: exits.map((exit) => `Ended: ${JSON.stringify(exit)}.`),
		...(await stage.killAfterwards(host)),
	};
}

/** The address of the debugger is in what the host printed. */
async function holdAtBreakpoint(host: HostProcess): Promise<void> {
	const address = /ws:\/\/\S+/.exec(host.errors)?.[0];
	if (!address) throw new Error(`No debugger listens: ${host.errors}`);
	const socket = new WebSocket(address);
	await once(socket, "open");
	const received = (wanted: number | string): Promise<void> =>
		new Promise((resolve) => {
			socket.addEventListener("message", ({ data }) => {
				const { id, method } = JSON.parse(String(data));
				if (id === wanted || method === wanted) resolve();
			});
		});
	const send = (id: number, method: string): void =>
		socket.send(JSON.stringify({ id, method }));
	try {
		send(1, "Debugger.enable");
		await received(1);
		const paused = received("Debugger.paused");
		send(2, "Debugger.pause");
		await paused;
		await sleep(STOPPED_MS);
		const resumed = received(3);
		send(3, "Debugger.resume");
		await resumed;
	} finally {
		socket.close();
	}
}
