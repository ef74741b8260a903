import { parseArgs } from "node:util";
import { AREAS } from "./areas.ts";
import { runArea } from "./stryker.ts";
import { installStryker, makeWorkspace } from "./workspace.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		file: { type: "string", multiple: true, default: [] },
		sample: { type: "string", default: "1" },
	},
});
const names = AREAS.map(({ name }) => name);
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

using workspace = makeWorkspace();
installStryker(workspace);
for (const area of AREAS.filter(({ name }) => chosen.includes(name))) {
	console.log(`\n== ${area.name}`);
	runArea(area, workspace, values.file, sample);
}
