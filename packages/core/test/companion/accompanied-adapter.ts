import { join } from "node:path";
import type { Adapter } from "../../src/contract/adapter.ts";
import type {
	CompanionSlot,
	LaunchSpec,
	WorkerSlot,
} from "../../src/contract/launch.ts";

const PROGRAMS = join(import.meta.dirname, "../bestiary");

/** Workers that need a companion; `habits` is a directory of the test, see keeps-company.cjs. */
export function accompaniedAdapter(habits: string): Adapter & {
	readonly companion: (slot: CompanionSlot) => LaunchSpec;
	/** Of every worker that was connected, in order. */
	readonly slots: readonly WorkerSlot[];
} {
	const slots: WorkerSlot[] = [];
	return {
		name: "accompanied",
		slots,
		companion: () => ({
			executable: process.execPath,
			args: [join(PROGRAMS, "keeps-company.cjs")],
			launchPayload: { habits },
			refusalCodes: ["NO_COMPANY"],
		}),
		launch: ({ companion }) => ({
			executable: process.execPath,
			args: [
				join(PROGRAMS, "needs-company.cjs"),
				join(companion?.directory ?? "", "g"),
			],
		}),
		connect: async (worker, signal) => {
			await worker.line(/^up$/, "stdout", signal);
			slots.push(worker.slot);
			return {
				execute: async (command) => {
					if (command === "pid") return worker.pid;
					return await new Promise(() => {});
				},
				[Symbol.asyncDispose]: async () => {},
			};
		},
	};
}
