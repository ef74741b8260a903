import { parseArgs } from "node:util";

/** The request of the user. */
export type DoctorOrder =
	| {
			readonly kind: "report";
			readonly dataDir: string | undefined;
			readonly form: "text" | "json";
	  }
	| { readonly kind: "help" }
	| { readonly kind: "misspelt"; readonly message: string };

export const USAGE = `Usage: snakepit-doctor [--data-dir DIR] [--json]

Tells which layers of protection work on this machine, why one does not, and
what would help. Changes nothing. Ends with 0, or with 1 when a layer that every
pool needs does not work.

Where @snakepit/telemetry is installed in this directory it also tells whether
an OpenTelemetry SDK gets what telemetry exports. Load the SDK as your program
does: NODE_OPTIONS="--import ./instrumentation.js" snakepit-doctor

  --data-dir DIR  where the ledger is; the user's state directory by default
  --json          an array of {layer, status, detail, remedy}
  --help          this
`;

/** Reads the arguments of the command. */
export function parseDoctorArguments(args: readonly string[]): DoctorOrder {
	try {
		const { values } = parseArgs({
			args: [...args],
			options: {
				"data-dir": { type: "string" },
				json: { type: "boolean", default: false },
				help: { type: "boolean", default: false },
			},
		});
		if (values.help) return { kind: "help" };
		const form = values.json ? "json" : "text";
		return { kind: "report", dataDir: values["data-dir"], form };
	} catch (error) {
		return { kind: "misspelt", message: (error as Error).message };
	}
}
