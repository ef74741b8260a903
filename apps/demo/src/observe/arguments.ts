import { parseArgs } from "node:util";

export const HELP = `Runs the demo with a viewer beside it, and prints the URL where its traces,
metrics and logs are seen, until Ctrl-C.

  npx pnpm@12 demo:observe [flags]

  --plain   plain lines, also in a terminal
  --help    this text

The viewer is compiled when it is first asked for: that takes minutes, and needs
Go 1.26 and a C compiler.

Exit code: 0 after Ctrl-C, 2 for a wrong flag, 1 when the demo or the viewer
failed.
`;

/** What the person at the keyboard asked for. */
export type Request =
	| { readonly kind: "observe"; readonly demoFlags: readonly string[] }
	| { readonly kind: "help" }
	| { readonly kind: "mistake"; readonly message: string };

/** Reads the command line. */
export function readArguments(args: readonly string[]): Request {
	try {
		const { values } = parseArgs({
			// `pnpm demo:observe -- --help` hands on the two dashes as well.
			args: args[0] === "--" ? args.slice(1) : [...args],
			options: {
				plain: { type: "boolean" },
				help: { type: "boolean", short: "h" },
			},
		});
		if (values.help) return { kind: "help" };
		return { kind: "observe", demoFlags: values.plain ? ["--plain"] : [] };
	} catch (error) {
		// The first sentence names the argument; the rest is about parseArgs.
		const [what] = (error as Error).message.split(". ");
		return {
			kind: "mistake",
			message: `${what?.replace(/\.$/, "")}. There are --plain and --help.`,
		};
	}
}
