/** What the report says of a mutant; `NoCoverage`: no test runs the code. */
type Status =
	| "Killed"
	| "Timeout"
	| "RuntimeError"
	| "Survived"
	| "NoCoverage"
	| "CompileError"
	| "Ignored";

/** The part of Stryker's JSON report that is read here. */
export interface Report {
	readonly files: Readonly<
		Record<string, { readonly mutants: readonly { readonly status: Status }[] }>
	>;
}

/** Mutants of one file. */
export interface FileScore {
	readonly file: string;
	/** Made a test fail, or run for too long. */
	readonly killed: number;
	readonly survived: number;
	/** In code that no test of the area runs. */
	readonly uncovered: number;
}

/** Counts the mutants of each file. Those that could not run count nowhere. */
export function fileScores({ files }: Report): readonly FileScore[] {
	return Object.entries(files).map(([file, { mutants }]) => {
		const count = (...wanted: readonly Status[]) =>
			mutants.filter(({ status }) => wanted.includes(status)).length;
		return {
			file,
			killed: count("Killed", "Timeout"),
			survived: count("Survived"),
			uncovered: count("NoCoverage"),
		};
	});
}

/** The score of some files, and of how many mutants it is. */
export function scoreLine(files: readonly FileScore[]): string {
	const score = scoreOf(files);
	if (score === undefined) return "no mutants";
	const sum = (key: "killed" | "survived" | "uncovered") =>
		files.reduce((total, file) => total + file[key], 0);
	const all = sum("killed") + sum("survived") + sum("uncovered");
	return `${score.toFixed(1)} % of ${all} mutants killed; ${sum("survived")} survived, ${sum("uncovered")} are in code that no test runs`;
}

/** Killed mutants in percent of all; `undefined` where there are none. */
function scoreOf(files: readonly FileScore[]): number | undefined {
	const killed = files.reduce((sum, file) => sum + file.killed, 0);
	const left = files.reduce((sum, f) => sum + f.survived + f.uncovered, 0);
	return killed + left === 0 ? undefined : (100 * killed) / (killed + left);
}
