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
	/** How the Python workers of every case are made that does not choose itself. */
	readonly workers: WorkerChoice;
	/** Files of earlier runs, for the page. */
	readonly pages: readonly string[];
	/** Whether only cases whose times are figures are meant. */
	readonly isTimed: boolean;
	readonly what: "everything" | (typeof MODES)[number];
}

/** Of several that are asked for, the first is done. */
const MODES = [
	"help",
	"page",
	"list",
	"peers",
	"programs",
	"selection",
] as const;

export const USAGE = `npx pnpm@12 chaos [options]

  --rounds N    rounds of every case, instead of its own number
  --only TEXT   cases with TEXT in their row, name or protections; can be repeated
  --seed N      chooses the random moments; 1 by default
  --json FILE   also writes the results there
  --framed      Python workers talk framed instead of gRPC
  --preload     Python workers are forked from a preloaded parent
  --selection   the short selection that runs with the tests
  --peers       only the side by side with what others offer
  --programs    only programs of all kinds beside their usual clients, 1 round; --only chooses by name
  --list        only the names of the cases
  --timed       only the cases whose times are figures
  --page FILE   runs nothing: writes docs/chaos-results.md from what --json wrote there;
                of several files, counts add up and times are of the last

Without --only, --timed, --framed, --preload, --selection, --peers and --programs it writes docs/chaos-results.md. Ctrl-C finishes
the cases that have begun; the page then shows that the others did not run.`;

/** @throws Error when an argument is none. */
export function readArguments(args: readonly string[]): ChaosArguments {
	const flag = { type: "boolean" } as const;
	const text = { type: "string" } as const;
	const texts = { type: "string", multiple: true } as const;
	const { values } = parseArgs({
		args: args.filter((each) => each !== "--"),
		options: {
			...{ rounds: text, seed: text, json: text, only: texts, page: texts },
			...{ framed: flag, preload: flag, timed: flag },
			...{ selection: flag, peers: flag, programs: flag, list: flag },
			help: { type: "boolean", short: "h" },
		},
	});
	const { rounds, only = [], json, seed = "1", page = [] } = values;
	return {
		rounds: rounds === undefined ? undefined : whole("rounds", rounds),
		only,
		json,
		seed: whole("seed", seed),
		workers: {
			...(values.framed && { transport: "framed" as const }),
			...(values.preload && { preload: { modules: ["numpy"] } }),
		},
		isTimed: values.timed ?? false,
		pages: page,
		what: MODES.find((mode) => values[mode]) ?? "everything",
	};
}

function whole(name: string, text: string): number {
	const number = Number(text);
	if (!Number.isSafeInteger(number) || number < 1)
		throw new Error(`--${name} must be a whole number from 1, not "${text}".`);
	return number;
}
