import type { WorkerProcess } from "../adapter.ts";
import type { StartedProcess, World } from "../world.ts";
import type { Worker } from "./worker.ts";
import type { WorkerBelongings } from "./worker-parts.ts";

/** What an adapter is shown of a process, besides the process itself. */
export interface ProcessViewSetting
	extends Pick<WorkerBelongings, "output" | "conversation"> {
	readonly worker: Worker;
	readonly process: StartedProcess;
	/** What the program sent in its ready line. */
	readonly ready: unknown;
	readonly token: string;
	readonly world: Pick<World, "clock" | "emit">;
}

/** The process of a worker as its adapter sees it. */
export function processView({
	worker,
	process,
	ready,
	token,
	output,
	conversation,
	world: { clock, emit },
}: ProcessViewSetting): WorkerProcess {
	const conversing = conversation !== undefined;
	return {
		slot: worker.slot,
		pid: process.identity.pid,
		ready,
		token,
		stdin: conversing ? process.stdin : undefined,
		stdout: conversing ? process.stdout : undefined,
		// An adapter gives up what is open then: what the worker wrote comes first.
		exited: process.exited.then(async (exit) => {
			await conversation?.finalOutput();
			return exit;
		}),
		line: async (match, from, signal) => {
			if (conversing && from === "stdout")
				throw new TypeError(
					'line(): with stdio "adapter" the adapter reads standard output itself.',
				);
			return await output.awaited.next(match, from, signal);
		},
		notify: (notification, data) =>
			emit({
				type: "worker.notified",
				wallMs: clock.wall(),
				...worker.ref,
				notification,
				data,
			}),
		log: (record) =>
			emit({
				type: "worker.logged",
				wallMs: record.wallMs,
				...worker.ref,
				record,
			}),
		broken: (error) => worker.conversationOver(error.message),
	};
}
