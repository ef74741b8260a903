import type { ChildProcess } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Setting } from "../case.ts";
import type { Contestant, Line, LineSetting } from "./contestant.ts";

/** The other packages. They are not installed when this is type-checked: what is used of each is written down here. */
export const peers: readonly Contestant[] = [
	peer("python-shell", "python-shell, JSON lines", openPythonShell),
	peer("pythonia", "pythonia", openPythonia),
	peer(
		"node-calls-python",
		"node-calls-python, in process",
		openNodeCallsPython,
	),
	peer("tinypool", "tinypool, processes (JavaScript)", openTinypool),
	peer("piscina", "piscina, threads (JavaScript)", openPiscina),
];

function peer(
	name: string,
	title: string,
	open: (setting: LineSetting) => Promise<Line>,
): Contestant {
	return { name: title, needs: { peer: name }, open };
}

interface PythonShell {
	readonly childProcess: ChildProcess;
	send(message: unknown): void;
	on(event: "message", listener: (message: unknown) => void): void;
}
interface PythonShellModule {
	readonly PythonShell: new (program: string, options: object) => PythonShell;
}

/** One program for each worker; it answers in the order of the lines. */
async function openPythonShell(setting: LineSetting): Promise<Line> {
	const { PythonShell } = await load<PythonShellModule>(
		setting,
		"python-shell",
	);
	const shells = Array.from({ length: setting.workers }, () => {
		const shell = new PythonShell(program("shell_echo.py"), {
			mode: "json",
			pythonPath: setting.python,
		});
		const waiting: ((message: unknown) => void)[] = [];
		shell.on("message", (message) => waiting.shift()?.(message));
		return { shell, waiting };
	});
	let turn = 0;
	const ask = (value: unknown): Promise<unknown> =>
		new Promise((resolve) => {
			const next = shells[turn++ % shells.length];
			next?.waiting.push(resolve);
			next?.shell.send(value);
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

interface Pythonia {
	readonly python: ((path: string) => Promise<PlainFunctions>) & {
		exit(): void;
	};
}
interface PlainFunctions {
	echo(value: unknown): Promise<unknown>;
}

async function openPythonia(setting: LineSetting): Promise<Line> {
	process.env["PYTHON_BIN"] = setting.python;
	const { python } = await load<Pythonia>(setting, "pythonia");
	const functions = await python(program("plain_functions.py"));
	return {
		pids: [],
		echo: (text) => functions.echo(text),
		[Symbol.asyncDispose]: async () => python.exit(),
	};
}

interface NodeCallsPython {
	readonly interpreter: {
		import(path: string): Promise<object>;
		call(module: object, name: string, value: unknown): Promise<unknown>;
	};
}

async function openNodeCallsPython(setting: LineSetting): Promise<Line> {
	const { interpreter } = await load<NodeCallsPython>(
		setting,
		"node-calls-python",
	);
	const module = await interpreter.import(program("plain_functions.py"));
	return {
		pids: [],
		echo: (text) => interpreter.call(module, "echo", text),
		takeBytes: (bytes) => interpreter.call(module, "take", Buffer.from(bytes)),
		[Symbol.asyncDispose]: async () => {},
	};
}

interface JavaScriptPool {
	run(value: unknown, options?: object): Promise<unknown>;
	destroy(): Promise<void>;
}
type JavaScriptPoolClass = new (options: object) => JavaScriptPool;

async function openTinypool(setting: LineSetting): Promise<Line> {
	const module = await load<{ default: JavaScriptPoolClass }>(
		setting,
		"tinypool",
	);
	return javaScriptLine(
		new module.default({
			...poolOptions(setting),
			runtime: "child_process",
			serialization: "advanced",
		}),
	);
}

async function openPiscina(setting: LineSetting): Promise<Line> {
	const module = await load<{ default: JavaScriptPoolClass }>(
		setting,
		"piscina",
	);
	return javaScriptLine(new module.default(poolOptions(setting)));
}

function poolOptions({ workers, inFlight }: LineSetting): object {
	return {
		filename: new URL("./javascript-echo.ts", import.meta.url).href,
		minThreads: workers,
		maxThreads: workers,
		concurrentTasksPerWorker: Math.ceil(inFlight / workers),
	};
}

function javaScriptLine(pool: JavaScriptPool): Line {
	return {
		pids: [],
		echo: (text) => pool.run(text),
		echoBytes: async (bytes) => (await pool.run(bytes)) as Uint8Array,
		[Symbol.asyncDispose]: () => pool.destroy(),
	};
}

function program(name: string): string {
	return fileURLToPath(new URL(`../python/${name}`, import.meta.url));
}

async function load<Module>(
	{ peers: installed }: Setting,
	name: string,
): Promise<Module> {
	const directory = installed[name];
	if (directory === undefined) throw new Error(`${name} is not installed`);
	const require = createRequire(join(directory, "package.json"));
	const module = await import(pathToFileURL(require.resolve(name)).href);
	// What a CommonJS module exports is not always seen as names.
	return typeof module.default === "object"
		? { ...module, ...module.default }
		: module;
}
