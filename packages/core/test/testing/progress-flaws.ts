import type { CallProgress } from "../../src/contract/connection.ts";
import type { FLAWS } from "./contract-flaws.ts";

const ORDERED =
	"progress reports arrive in order and before the answer, and the newest one always arrives";
const UNTAKEN = "a host that ignores the first report still gets the answer";

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
