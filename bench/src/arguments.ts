import { parseArgs } from "node:util";
import type { Pace } from "./case.ts";

export const HELP = `Usage: npx pnpm@12 bench [options]

  --only CASE[,CASE]  only these cases
  --list              list the cases
  --quick             two short runs for a quick look; not for publishing
  --runs N            number of interleaved runs (5)
  --soak MINUTES      how long the soak lasts (1)
  --free-threaded PYTHON  an interpreter without Python's lock that has the
                      bridge, for its rows in the case threads
  --json FILE         write the results
  --svg FILE          draw a plot of them
  --publish FILE      measure nothing: store the results of --json FILE in bench/results,
                      where each case replaces its older results, and write
                      docs/benchmarks.md and its plot from all stored results
`;

export type Request =
	| { readonly kind: "help" }
	| { readonly kind: "list" }
	| { readonly kind: "publish"; readonly files: readonly string[] }
	| { readonly kind: "mistake"; readonly message: string }
	| {
			readonly kind: "run";
			/** Empty for all. */
			readonly only: readonly string[];
			readonly quick: boolean;
			readonly runs: number;
			readonly pace: Pace;
			readonly freeThreadedPython: string | undefined;
			readonly json: string | undefined;
			readonly svg: string | undefined;
	  };

const FULL: Pace = {
	warmUpMs: 1_500,
	measureMs: 1_500,
	largestMb: 100,
	mostWorkers: 100,
	soakMs: 60_000,
};
const QUICK: Pace = {
	warmUpMs: 500,
	measureMs: 500,
	largestMb: 10,
	mostWorkers: 16,
	soakMs: 5_000,
};

export function readArguments(
	args: readonly string[],
	known: readonly string[],
): Request {
	try {
		return read(args, known);
	} catch (error) {
		return { kind: "mistake", message: `${(error as Error).message}\n${HELP}` };
	}
}

function read(args: readonly string[], known: readonly string[]): Request {
	const { values } = parseArgs({
		args: [...args],
		options: {
			"free-threaded": { type: "string" },
			help: { type: "boolean", short: "h" },
			json: { type: "string" },
			list: { type: "boolean" },
			only: { type: "string", multiple: true },
			publish: { type: "string", multiple: true },
			quick: { type: "boolean" },
			runs: { type: "string" },
			soak: { type: "string" },
			svg: { type: "string" },
		},
	});
	if (values.help) return { kind: "help" };
	if (values.list) return { kind: "list" };
	const { publish, ...others } = values;
	if (publish !== undefined) {
		const [other] = Object.keys(others);
		if (other !== undefined)
			throw new Error(`--publish measures nothing: use it without --${other}`);
		return { kind: "publish", files: publish };
	}
	const only = (values.only ?? []).flatMap((names) => names.split(","));
	const stranger = only.find((name) => !known.includes(name));
	if (stranger !== undefined)
		throw new Error(`no case "${stranger}"; there are ${known.join(", ")}`);
	const quick = values.quick ?? false;
	const pace = quick ? QUICK : FULL;
	return {
		kind: "run",
		only,
		quick,
		runs: positive("--runs", values.runs) ?? (quick ? 2 : 5),
		pace: {
			...pace,
			soakMs:
				(positive("--soak", values.soak) ?? pace.soakMs / 60_000) * 60_000,
		},
		freeThreadedPython: values["free-threaded"],
		json: values.json,
		svg: values.svg,
	};
}

function positive(name: string, text: string | undefined): number | undefined {
	if (text === undefined) return undefined;
	const number = Number(text);
	if (!(number > 0)) throw new Error(`${name} must be a number above 0`);
	return number;
}

/** Options with a path, as a published command has them. */
export const PATHS = {
	"--json": undefined,
	"--svg": undefined,
	"--free-threaded": "PYTHON",
} as const;
