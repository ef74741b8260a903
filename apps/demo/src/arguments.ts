import { parseArgs } from "node:util";
import { EndpointError, readEndpoint } from "./otlp/endpoint.ts";

export const HELP = `Reads the 1,797 handwritten digits that ship inside scikit-learn with 4 Python
workers, kills one of them half way, and counts the processes that are left.

  npx pnpm@12 demo [flags]

  --kill-host   run all that in a child, kill the child with SIGKILL in full
                flight, and report how long until nothing of it was left
  --otlp URL    send traces, metrics and logs of it, and of its workers, to an
                OTLP/HTTP receiver, such as http://127.0.0.1:4318
  --plain       plain lines, also in a terminal
  --help        this text

Exit code: 0 when every image was answered exactly once and nothing is left
(--kill-host: nothing was left within a second), 2 for a wrong flag, else 1.
`;

/** What the person at the keyboard asked for. */
export type Request =
	| {
			readonly kind: "run";
			readonly plain: boolean;
			readonly otlp: string | undefined;
	  }
	| { readonly kind: "kill_host"; readonly otlp: string | undefined }
	| { readonly kind: "help" }
	| { readonly kind: "mistake"; readonly message: string };

/** Reads the command line. */
export function readArguments(args: readonly string[]): Request {
	try {
		const { values } = parseArgs({
			// `pnpm demo -- --help` hands on the two dashes as well.
			args: args[0] === "--" ? args.slice(1) : [...args],
			options: {
				"kill-host": { type: "boolean" },
				otlp: { type: "string" },
				plain: { type: "boolean" },
				help: { type: "boolean", short: "h" },
			},
		});
		if (values.help) return { kind: "help" };
		const otlp =
			values.otlp === undefined ? undefined : readEndpoint(values.otlp);
		if (values["kill-host"]) return { kind: "kill_host", otlp };
		return { kind: "run", plain: values.plain ?? false, otlp };
	} catch (error) {
		if (error instanceof EndpointError)
			return { kind: "mistake", message: `${error.message}.` };
		// The first sentence names the argument; the rest is about parseArgs.
		const [what] = (error as Error).message.split(". ");
		return {
			kind: "mistake",
			message: `${what?.replace(/\.$/, "")}. There are --kill-host, --otlp URL, --plain and --help.`,
		};
	}
}
