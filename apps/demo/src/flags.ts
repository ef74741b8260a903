import { parseArgs } from "node:util";
import type { Transport } from "@snakepit/adapter-grpc-python";
import { EndpointError, readEndpoint } from "./receiver.ts";

export const HELP = `Reads the 1,797 handwritten digits that ship inside scikit-learn with 4 Python
workers, kills one of them half way, and counts the processes that are left.

  npx pnpm@12 demo [flags]

  --dash        read digits until Ctrl-C, and open the dashboard in the browser
  --kill-host   run all that in a child, kill the child with SIGKILL in full
                flight, and report how long until nothing of it was left
  --otlp URL    export traces, metrics and logs of the demo and its workers to an
                OTLP/HTTP receiver, such as http://127.0.0.1:4318
  --ray         start a Ray cluster of three nodes in a network that has only
                loopback, read the digits there, and kill a node half way
  --plain       plain lines, also in a terminal
  --transport T "grpc" (the default) or "framed", which is faster
  --svg FILE    also save the live board and the report as a picture
  --help        this text

Exit code: 0 when every image was answered exactly once and nothing is left
(--kill-host: nothing was left within a second), 2 for a wrong flag, else 1.
`;

/** What the user asked for. */
export interface Flags {
	/** Reads until Ctrl-C, with the dashboard. */
	readonly dash: boolean;
	readonly killHost: boolean;
	/** The base URL of a receiver. */
	readonly otlp: string | undefined;
	readonly plain: boolean;
	/** Reads on a cluster that the demo starts. */
	readonly ray: boolean;
	readonly svg: string | undefined;
	readonly transport: Transport;
	readonly help: boolean;
}

/** @throws Error for a wrong flag, with all flags that there are. */
export function readFlags(args: readonly string[]): Flags {
	try {
		const { values } = parseArgs({
			// `pnpm demo -- --help` passes on the two dashes as well.
			args: args[0] === "--" ? args.slice(1) : [...args],
			options: {
				dash: { type: "boolean", default: false },
				"kill-host": { type: "boolean", default: false },
				otlp: { type: "string" },
				plain: { type: "boolean", default: false },
				ray: { type: "boolean", default: false },
				svg: { type: "string" },
				transport: { type: "string", default: "grpc" },
				help: { type: "boolean", short: "h", default: false },
			},
		});
		const { dash, otlp, plain, ray, svg, help, transport } = values;
		const { "kill-host": killHost } = values;
		if (!isTransport(transport))
			throw new Error(
				`--transport is grpc or framed, not ${JSON.stringify(transport)}`,
			);
		return {
			dash,
			killHost,
			otlp: otlp === undefined ? undefined : readEndpoint(otlp),
			plain,
			ray,
			svg,
			transport,
			help,
		};
	} catch (error) {
		if (error instanceof EndpointError) throw error;
		// The first sentence names the argument; the rest is about parseArgs.
		const [what = ""] = (error as Error).message.split(". ");
		throw new Error(
			`${what.replace(/\.$/, "")}. There are --dash, --kill-host, --otlp URL, --plain, --ray, --svg FILE, --transport T and --help.`,
		);
	}
}

function isTransport(value: string): value is Transport {
	return value === "grpc" || value === "framed";
}
