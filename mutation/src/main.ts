import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../../scripts/run.ts";
import { AREAS } from "./areas.ts";
import { enclosure } from "./enclosure.ts";
import { runArea } from "./run-area.ts";
import { PYTHON, runPython } from "./run-python.ts";
import { type FileScore, scoreLine } from "./score.ts";
import { installStryker, makeWorkspace } from "./workspace.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		file: { type: "string", multiple: true, default: [] },
		output: { type: "string" },
		sample: { type: "string", default: "1" },
	},
});
const areas = AREAS.filter(
	({ name }) => positionals.length === 0 || positionals.includes(name),
);
const isPython = positionals.length === 0 || positionals.includes(PYTHON);
const chosen = areas.length + Number(isPython);
if (chosen === 0)
	throw new Error(
		`There is no such area. Choose from: ${[...AREAS.map(({ name }) => name), PYTHON].join(", ")}.`,
	);
if (values.file.length > 0 && chosen !== 1)
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

const enclosed = enclosure();
const place = mkdtempSync(join(tmpdir(), "sp-m-"));
chmodSync(place, 0o755);
try {
	const workspace = makeWorkspace(place);
	const scores: Record<string, readonly FileScore[]> = {};
	if (areas.length > 0) installStryker(workspace);
	for (const area of areas) {
		console.log(`\n== ${area.name}`);
		scores[area.name] = runArea(area, workspace, enclosed, {
			files: values.file,
			sample,
		});
	}
	if (isPython) {
		console.log(`\n== ${PYTHON}`);
		scores[PYTHON] = runPython(workspace, enclosed, values.file);
	}
	for (const [name, files] of Object.entries(scores))
		console.log(`${name}: ${scoreLine(files)}`);
	if (values.output !== undefined)
		writeFileSync(
			resolve(root, values.output),
			`${JSON.stringify(scores, undefined, "\t")}\n`,
		);
} finally {
	rmSync(place, { recursive: true, force: true });
}
