import { parseArgs } from "node:util";
import type { WorkerChoice } from "./harness/stage.ts";

/** What is to be run. */
export interface ChaosArguments {
	/** For every case instead of its own; `undefined` leaves them. */
	readonly rounds: number | undefined;
	/** Cases with one of these in their row, name or protections; all when empty. */
	readonly only: readonly string[];
	readonly json: string | undefined;
	readonly seed: number;
	/** How the Python workers of every case are made that does not say it itself. */
	readonly workers: WorkerChoice;
	/** Files of earlier runs, for the page. */
	readonly pages: readonly string[];
	/** Whether only cases whose times are figures are meant. */
	readonly isTimed: boolean;
	readonly what:
		| "everything"
		| "selection"
		| "peers"
		| "list"
		| "page"
		| "help";
}

export const USAGE = `npx pnpm@12 chaos [options]

  --rounds N    rounds of every case, instead of its own number
  --only TEXT   cases with TEXT in their row, name or protections; may be given again
  --seed N      chooses the random moments; 1 by default
  --json FILE   also writes the results there
  --framed      Python workers talk framed instead of gRPC
  --preload     Python workers are forked from a preloaded parent
  --selection   the short selection that runs with the tests
  --peers       only the side by side with what others offer
  --list        only the names of the cases
  --timed       only the cases whose times are figures
  --page FILE   runs nothing: writes docs/chaos-results.md from what --json wrote there;
                given again, from all of them: counts add up, times are of the last

Without --only, --timed, --framed, --preload, --selection and --peers it writes docs/chaos-results.md. Ctrl-C lets
what has begun finish; the page then says of the rest that it did not run.`;

/** @throws Error when an argument is none. */
export function readArguments(args: readonly string[]): ChaosArguments {
	const { values } = parseArgs({
		args: args.filter((each) => each !== "--"),
		options: {
			help: { type: "boolean", short: "h" },
			rounds: { type: "string" },
			only: { type: "string", multiple: true },
			json: { type: "string" },
			seed: { type: "string" },
			framed: { type: "boolean" },
			preload: { type: "boolean" },
			selection: { type: "boolean" },
			peers: { type: "boolean" },
			list: { type: "boolean" },
			timed: { type: "boolean" },
			page: { type: "string", multiple: true },
		},
	});
	return {
		rounds:
			values.rounds === undefined ? undefined : whole("rounds", values.rounds),
		only: values.only ?? [],
		json: values.json,
		seed: values.seed === undefined ? 1 : whole("seed", values.seed),
		workers: {
			...(values.framed && { transport: "framed" as const }),
			...(values.preload && { preload: true }),
		},
		isTimed: values.timed ?? false,
		pages: values.page ?? [],
		what: values.help
			? "help"
			: values.page
				? "page"
				: values.list
					? "list"
					: values.peers
						? "peers"
						: values.selection
							? "selection"
							: "everything",
	};
}

function whole(name: string, text: string): number {
	const number = Number(text);
	if (!Number.isSafeInteger(number) || number < 1)
		throw new Error(`--${name} must be a whole number from 1, not "${text}".`);
	return number;
}
