// A host as anybody writes one: `peers.mjs PEER`. It has two busy workers, and runs until it is killed.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { CHAOS_PEER: directory, CHAOS_PYTHON: python } = process.env;
const at = (name) => new URL(name, import.meta.url);
const busy = at("./busy.py").pathname;

/** Loads a package that is installed in a folder of its own; CommonJS exports are not always seen as names. */
async function peer(name) {
	const { resolve } = createRequire(join(directory, "package.json"));
	const module = await import(pathToFileURL(resolve(name)).href);
	return { ...module, ...module.default };
}

function twice(start) {
	for (let worker = 0; worker < 2; worker++) start();
}

const PEERS = {
	"child-process": () => twice(() => spawn(python, [busy])),
	detached: () => twice(() => spawn(python, [busy], { detached: true })),
	execa: async () => {
		const { execa } = await peer("execa");
		// The clean-up is its default.
		twice(() => execa(python, [busy], { cleanup: true }));
	},
	"python-shell": async () => {
		const { PythonShell } = await peer("python-shell");
		twice(() => new PythonShell(busy, { pythonPath: python }));
	},
	// It has one Python process.
	pythonia: async () => {
		process.env.PYTHON_BIN = python;
		const pythonia = await peer("pythonia");
		const module = await pythonia.python(busy);
		await module.hold_and_work();
	},
	// Threads of this very process, for contrast.
	piscina: async () => {
		const { default: Piscina } = await peer("piscina");
		const filename = at("./busy-thread.mjs").href;
		const pool = new Piscina({ filename, minThreads: 2, maxThreads: 2 });
		twice(() => pool.run(0));
	},
};

await PEERS[process.argv[2]]();
