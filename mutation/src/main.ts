import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../../scripts/run.ts";
import { AREAS, PYTHON } from "./areas.ts";
import { runPython } from "./mutmut.ts";
import { runArea } from "./stryker.ts";
import { installStryker, makeWorkspace } from "./workspace.ts";

/** Mutants of one file. */
export interface FileScore {
	readonly file: string;
	/** Made a test fail, or run for too long. */
	readonly killed: number;
	readonly survived: number;
	/** In code that no test of the area runs. */
	readonly uncovered: number;
}

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		file: { type: "string", multiple: true, default: [] },
		output: { type: "string" },
		sample: { type: "string", default: "1" },
	},
});
const names = [...AREAS.map(({ name }) => name), PYTHON];
const chosen = positionals.length > 0 ? positionals : names;
const unknown = chosen.find((name) => !names.includes(name));
if (unknown !== undefined)
	throw new Error(
		`There is no area ${unknown}. Choose from: ${names.join(", ")}.`,
	);
if (values.file.length > 0 && chosen.length !== 1)
	throw new Error("--file needs the name of the one area that the file is in.");
const sample = Number(values.sample);
if (!Number.isInteger(sample) || sample < 1)
	throw new Error(
		`--sample ${values.sample} must be a whole number from 1: every nth mutant runs.`,
	);
if (sample > 1 && positionals.includes(PYTHON))
	throw new Error(
		`--sample ${sample} is not possible in ${PYTHON}: choose files with --file.`,
	);

using workspace = makeWorkspace();
const areas = AREAS.filter(({ name }) => chosen.includes(name));
if (areas.length > 0) installStryker(workspace);
const scores: Record<string, readonly FileScore[]> = {};
for (const area of areas) {
	console.log(`\n== ${area.name}`);
	scores[area.name] = runArea(area, workspace, values.file, sample);
}
if (chosen.includes(PYTHON)) {
	console.log(`\n== ${PYTHON}`);
	scores[PYTHON] = runPython(workspace, values.file);
}
for (const [name, files] of Object.entries(scores)) {
	const sum = (key: "killed" | "survived" | "uncovered") =>
		files.reduce((total, file) => total + file[key], 0);
	const all = sum("killed") + sum("survived") + sum("uncovered");
	const share = ((100 * sum("killed")) / Math.max(all, 1)).toFixed(1);
	console.log(
		`${name}: ${share} % of ${all} mutants killed; ${sum("survived")} survived, ${sum("uncovered")} are in code that no test runs`,
	);
}
if (values.output !== undefined)
	writeFileSync(
		resolve(root, values.output),
		`${JSON.stringify(scores, undefined, "\t")}\n`,
	);
