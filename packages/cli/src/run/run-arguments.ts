/** The parsed arguments of `snakepit run`. */
export type RunOrder =
	| {
			readonly kind: "run";
			/** From SIGTERM to SIGKILL. */
			readonly graceMs: number;
			/** The command must also end when its standard input ends. */
			readonly withStdin: boolean;
			readonly isVerbose: boolean;
			/** The program and its arguments. */
			readonly command: readonly [string, ...string[]];
	  }
	| { readonly kind: "help" }
	| { readonly kind: "misspelt"; readonly message: string };

export const RUN_USAGE = `Usage: snakepit run [--grace TIME] [--with-stdin] [--verbose]
                    -- COMMAND [ARGUMENT...]

Runs a command and leaves none of its processes behind. The command has the same
standard input, output and error, and gets the signals that are sent to this
process. When it ends, or when the parent of this process ends in any way,
snakepit ends all descendants of the command: SIGTERM, then SIGKILL after the
grace. Without the native binary (Linux), it ends only the command itself.

  --grace TIME  time from SIGTERM to SIGKILL, for example 500ms, 5s or 2m; default 5s
  --with-stdin  also ends the command when nobody can write to its standard input
                any more and it does not end by itself within the grace
  --verbose     reports on standard error what was ended and why
  --help        prints this help

Exit status: that of the command; 125 if this program fails, 126 if the command
cannot be executed, 127 if it does not exist, and 2 for wrong arguments.
`;

const DEFAULT_GRACE_MS = 5_000;
const DAY_MS = 86_400_000;
const UNITS_MS: Readonly<Record<string, number>> = {
	ms: 1,
	s: 1_000,
	m: 60_000,
};

/** Parses what follows `run`, as the native binary does. */
export function parseRunArguments(args: readonly string[]): RunOrder {
	let graceMs = DEFAULT_GRACE_MS;
	let withStdin = false;
	let isVerbose = false;
	for (let next = 0; next < args.length; next++) {
		const argument = args[next] ?? "";
		const [, attached] = /^--grace=(.*)$/s.exec(argument) ?? [];
		if (argument === "--grace" || attached !== undefined) {
			const time = attached ?? args[++next] ?? "";
			const parsed = parseTime(time);
			if (parsed === undefined)
				return misspelt(
					`this is not a time for --grace: ${time || "(nothing)"}. Give 0, or a time up to 1440m with its unit: 500ms, 5s or 2m.`,
				);
			graceMs = parsed;
		} else if (argument === "--with-stdin") withStdin = true;
		else if (argument === "--verbose") isVerbose = true;
		else if (argument === "--help" || argument === "-h")
			return { kind: "help" };
		else if (argument === "--") {
			const [program, ...rest] = args.slice(next + 1);
			if (program === undefined) break;
			return {
				kind: "run",
				graceMs,
				withStdin,
				isVerbose,
				command: [program, ...rest],
			};
		} else
			return misspelt(
				argument.startsWith("-")
					? `unknown option: ${argument}. The options are --grace TIME, --with-stdin, --verbose and --help.`
					: `this is not an option: ${argument}. Write -- before the command: snakepit run -- COMMAND.`,
			);
	}
	return misspelt(
		"the command is missing. Write it after --: snakepit run -- COMMAND.",
	);
}

function misspelt(message: string): RunOrder {
	return { kind: "misspelt", message };
}

/** Milliseconds; `undefined` if the text is not a duration, or is more than a day. */
function parseTime(text: string): number | undefined {
	if (text === "0") return 0;
	const [, number = "", unit = ""] = /^(\d+)(ms|s|m)$/.exec(text) ?? [];
	const ms = Number(number) * (UNITS_MS[unit] ?? Number.NaN);
	return ms <= DAY_MS ? ms : undefined;
}
