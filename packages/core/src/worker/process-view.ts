import type { LaunchSpec, WorkerProcess } from "../contract/launch.ts";
import type { World } from "../contract/world.ts";
import type { Worker } from "./worker.ts";
import type { WorkerBelongings } from "./worker-parts.ts";

/** What an adapter is shown of a process, besides the process itself. */
export interface ProcessViewSetting
	extends Pick<
		WorkerBelongings,
		"process" | "descriptors" | "output" | "conversation"
	> {
	readonly worker: Worker;
	readonly spec: Pick<LaunchSpec, "stdio">;
	/** What the program sent in its ready line. */
	readonly ready: unknown;
	readonly token: string;
	readonly world: Pick<World, "clock" | "emit">;
}

/** The process of a worker as its adapter sees it. */
export function processView({
	worker,
	spec,
	process,
	descriptors,
	ready,
	token,
	output,
	conversation,
	world: { clock, emit },
}: ProcessViewSetting): WorkerProcess {
	const conversing = spec.stdio === "adapter";
	return {
		slot: worker.slot,
		pid: process.identity.pid,
		ready,
		token,
		stdin: conversing ? process.stdin : undefined,
		stdout: conversing ? process.stdout : undefined,
		descriptor: (fd) => {
			const stream = process.streams.get(fd);
			if (stream === undefined)
				throw new TypeError(
					`descriptor(${fd}): launch() asked for no stream with this number.`,
				);
			return stream;
		},
		listener: (fd) => descriptors.address(fd),
		// An adapter gives up what is open then: what the worker wrote comes first.
		exited: process.exited.then(async (exit) => {
			await conversation.finalOutput();
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
		starting: ({ awaits, stray }) => {
			const known = worker.startReport;
			worker.startReport = {
				awaits: awaits ?? known.awaits,
				stray: known.stray ?? stray,
			};
		},
		broken: (error) => worker.conversationOver(error.message),
	};
}
