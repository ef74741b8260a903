import type {
	ContractProgram,
	ContractPrograms,
} from "./process-host-contract.ts";

const node = (script: string): ContractProgram => ({
	executable: process.execPath,
	args: ["-e", script],
});
const FOR_EVER = "setInterval(() => {}, 1e9);";

/** The programs of the contract of hosts, in Node. */
export const NODE_PROGRAMS: ContractPrograms = {
	exitsWithSeven: node(
		'console.log("out"); console.error("err"); process.exitCode = 7;',
	),
	idles: node(`console.log("up"); ${FOR_EVER}`),
	ignoresTerm: node(
		`process.on("SIGTERM", () => {}); console.log("up"); ${FOR_EVER}`,
	),
	forks: node(
		`const { spawn } = require("node:child_process");
		const child = spawn(process.execPath, ["-e", "${FOR_EVER}"], { stdio: "ignore" });
		child.once("spawn", () => console.log("up"));`,
	),
	copies: node("process.stdin.pipe(process.stdout);"),
	copiesControl: node(
		'const { Socket } = require("node:net"); const control = new Socket({ fd: 3 }); control.pipe(control);',
	),
};
