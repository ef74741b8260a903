import { writeSync } from "node:fs";
import type { Setting } from "./case.ts";
import { cases } from "./cases.ts";

/** The only argument of a row's process, as JSON. */
export interface RowRequest {
	readonly caseName: string;
	readonly rowName: string;
	readonly setting: Setting;
	/** Where the answer goes. 1 to look at one row by hand. */
	readonly answerTo: number;
}

// The program of that process: measures one row once, and writes what it measured.
const request: RowRequest = JSON.parse(process.argv[2] ?? "");
const row = cases
	.find(({ name }) => name === request.caseName)
	?.rows.find(({ name }) => name === request.rowName);
if (row === undefined)
	throw new Error(`there is no such row: ${process.argv[2]}`);
// Sockets of ours hold no program open, and a bare connection has no pool that does.
setInterval(() => {}, 2 ** 31 - 1);
const figures = await row.measure(request.setting);
writeSync(request.answerTo, `${JSON.stringify(figures)}\n`);
// Peers may hold the process open.
process.exit(0);
