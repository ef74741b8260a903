import { type Case, lower, type Row, type Setting } from "../case.ts";
import { openBareGrpc } from "../contestants/bare-grpc.ts";
import {
	type OurVariant,
	openPool,
	ourName,
	startVariants,
} from "../contestants/ours.ts";

export const replace: Case = {
	name: "replace",
	title: "Replacing a killed worker",
	about:
		"An idle worker gets SIGKILL and a call is made in the same turn: the time until that call is answered, and until as many workers are ready as before.",
	figures: {
		without_capacity_ms: lower("without capacity", "ms"),
		whole_again_ms: lower("whole again", "ms"),
	},
	rows: [
		{
			name: "bare grpcio server, started again",
			measure: async (setting) => {
				const one = { ...setting, workers: 1 };
				const before = await openBareGrpc(one, "threads");
				await before.echo?.("");
				const begin = performance.now();
				await before[Symbol.asyncDispose]();
				await using after = await openBareGrpc(one, "threads");
				await after.echo?.("");
				return { without_capacity_ms: performance.now() - begin };
			},
		},
		...startVariants.flatMap((variant) => [
			rowFor(variant, "one worker", 1),
			rowFor(variant, "one worker and a spare", 2),
		]),
	],
};

function rowFor(variant: OurVariant, how: string, size: number): Row {
	return {
		name: `${ourName(variant.name)}, ${how}`,
		measure: async (setting: Setting) => {
			await using pool = await openPool(variant, setting, { size });
			for (let i = 0; i < 20; i++) await pool.execute("echo", [i]);
			const whole = Promise.withResolvers<void>();
			pool.on("worker.ready", () => whole.resolve());
			const [worker] = pool.workers();
			if (worker?.pid === undefined) throw new Error("there is no worker");
			const begin = performance.now();
			// A child of this process that nobody has waited for yet: the pid is its own.
			process.kill(worker.pid, "SIGKILL");
			await pool.execute("echo", [0], { retry: { attempts: 4 } });
			const without_capacity_ms = performance.now() - begin;
			await whole.promise;
			return { without_capacity_ms, whole_again_ms: performance.now() - begin };
		},
	};
}
