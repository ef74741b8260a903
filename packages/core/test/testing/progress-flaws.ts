import type { CallProgress } from "../../src/call-progress.ts";
import type { FLAWS } from "./contract-flaws.ts";

const ORDERED =
	"reports of progress arrive in their order before the answer, the newest of them always, and none after it";
const UNTAKEN =
	"a host that does not take the first report gets the answer all the same";

/** Flaws of adapters whose programs report their progress. */
export const PROGRESS_FLAWS: typeof FLAWS = {
	"reports progress after the answer": {
		flaw: (connection) => ({
			execute: async (command, args, options) => {
				const { onProgress } = options;
				if (onProgress === undefined)
					return connection.execute(command, args, options);
				const late: CallProgress[] = [];
				const answer = await connection.execute(command, args, {
					...options,
					onProgress: async (progress) => void late.push(progress),
				});
				setImmediate(() => late.map(onProgress));
				return answer;
			},
		}),
		breaks: [ORDERED, UNTAKEN],
	},
	"waits until the host takes each report of progress": {
		flaw: (connection) => ({
			execute: async (command, args, options) => {
				const taken: (Promise<void> | undefined)[] = [];
				const answer = await connection.execute(command, args, {
					...options,
					onProgress: async (progress) =>
						void taken.push(options.onProgress?.(progress)),
				});
				await Promise.all(taken);
				return answer;
			},
		}),
		breaks: [UNTAKEN],
	},
};
