import type { ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
	byTurns,
	type Contestant,
	type Line,
	type LineSetting,
} from "./contestant.ts";

/** The other packages. They are not installed when this is type-checked: what is used of each is written down below. */
export const peers: readonly Contestant[] = [
	peer("python-shell", "python-shell, JSON lines", openPythonShell),
	peer("pythonia", "pythonia", openPythonia),
	peer(
		"node-calls-python",
		"node-calls-python, in process",
		openNodeCallsPython,
	),
	peer(
		"tinypool",
		"tinypool, processes (JavaScript)",
		openJavaScriptPool({ runtime: "child_process", serialization: "advanced" }),
	),
	peer("piscina", "piscina, threads (JavaScript)", openJavaScriptPool({})),
];

/** What is used of their exports. */
interface Exports {
	readonly PythonShell: new (
		program: string,
		options: object,
	) => {
		readonly childProcess: ChildProcess;
		send(message: unknown): void;
		on(event: "message", listener: (message: unknown) => void): void;
	};
	/** Of pythonia. */
	readonly python: ((
		path: string,
	) => Promise<{ echo(value: unknown): Promise<unknown> }>) & { exit(): void };
	/** Of node-calls-python. */
	readonly interpreter: {
		import(path: string): Promise<object>;
		call(module: object, name: string, value: unknown): Promise<unknown>;
	};
	/** Of tinypool and piscina. */
	readonly default: new (
		options: object,
	) => {
		run(value: unknown): Promise<unknown>;
		destroy(): Promise<void>;
	};
}

function peer(
	name: string,
	title: string,
	open: (module: Exports, setting: LineSetting) => Line | Promise<Line>,
): Contestant {
	return {
		...{ name: title, needs: { peer: name } },
		open: async (setting) => open(await load(setting, name), setting),
	};
}

/** One program for each worker; it answers in the order of the lines. */
function openPythonShell(
	{ PythonShell }: Exports,
	{ workers, python }: LineSetting,
): Line {
	const shells = Array.from({ length: workers }, () => {
		const shell = new PythonShell(program("shell_echo.py"), {
			...{ mode: "json", pythonPath: python },
		});
		const waiting: ((message: unknown) => void)[] = [];
		shell.on("message", (message) => waiting.shift()?.(message));
		return { shell, waiting };
	});
	const next = byTurns(shells);
	const ask = (value: unknown): Promise<unknown> =>
		new Promise((resolve) => {
			const { shell, waiting } = next();
			waiting.push(resolve);
			shell.send(value);
		});
	return {
		pids: shells.flatMap(({ shell }) => shell.childProcess.pid ?? []),
		echo: ask,
		echoBytes: async (bytes) => {
			const answer = await ask(Buffer.from(bytes).toString("base64"));
			return Buffer.from(String(answer), "base64");
		},
		[Symbol.asyncDispose]: async () => {
			for (const { shell } of shells) shell.childProcess.kill("SIGKILL");
		},
	};
}

async function openPythonia({ python }: Exports): Promise<Line> {
	const functions = await python(program("plain_functions.py"));
	return {
		pids: [],
		echo: (text) => functions.echo(text),
		[Symbol.asyncDispose]: async () => python.exit(),
	};
}

async function openNodeCallsPython({ interpreter }: Exports): Promise<Line> {
	const module = await interpreter.import(program("plain_functions.py"));
	return {
		pids: [],
		echo: (text) => interpreter.call(module, "echo", text),
		takeBytes: (bytes) => interpreter.call(module, "take", Buffer.from(bytes)),
		[Symbol.asyncDispose]: async () => {},
	};
}

function openJavaScriptPool(options: object) {
	return (
		{ default: Pool }: Exports,
		{ workers, inFlight }: LineSetting,
	): Line => {
		const pool = new Pool({
			filename: new URL("./javascript-echo.ts", import.meta.url).href,
			...{ minThreads: workers, maxThreads: workers },
			concurrentTasksPerWorker: Math.ceil(inFlight / workers),
			...options,
		});
		return {
			pids: [],
			echo: (text) => pool.run(text),
			echoBytes: async (bytes) => (await pool.run(bytes)) as Uint8Array,
			[Symbol.asyncDispose]: () => pool.destroy(),
		};
	};
}

function program(name: string): string {
	return fileURLToPath(new URL(`../python/${name}`, import.meta.url));
}

async function load(
	{ peers: installed, python }: LineSetting,
	name: string,
): Promise<Exports> {
	const directory = installed[name];
	if (directory === undefined) throw new Error(`${name} is not installed`);
	// Where pythonia looks for its interpreter.
	process.env["PYTHON_BIN"] = python;
	const require = createRequire(join(directory, "package.json"));
	const module = await import(pathToFileURL(require.resolve(name)).href);
	// What a CommonJS module exports is not always seen as names.
	return typeof module.default === "object"
		? { ...module, ...module.default }
		: module;
}
