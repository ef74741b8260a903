// The host of one program of the table: argument as `host.ts` has it; which program, and how it is started, is in CHAOS_PROGRAM.
import { PROGRAMS } from "./programs.ts";

const { dataDir, protections } = JSON.parse(process.argv[2] ?? "{}");
const { name, kind } = JSON.parse(process.env["CHAOS_PROGRAM"] ?? "{}");
const program = PROGRAMS.find((each) => each.name === name);
await program?.start(
	kind === "usual" ? { kind } : { kind, dataDir, protections },
);
console.log(JSON.stringify({ up: name }));
setInterval(() => {}, 60_000);
