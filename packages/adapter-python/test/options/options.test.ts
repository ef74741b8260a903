import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { OptionsError } from "@snakepit/core";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	type PythonOptions,
	python,
	pythonEnvironment,
} from "../../src/index.ts";
import type {
	ResolvedPreload,
	SharedMemoryOptions,
} from "../../src/options.ts";
import { resolveOptions } from "../../src/resolve-options.ts";
import { preloadChoice } from "../../src/worker/launch-spec.ts";

test.each<[string, unknown, RegExp]>([
	["UNKNOWN_OPTION", { tools: "a.py", pythn: "x" }, /"pythn".*"python"/],
	["INVALID_OPTION", {}, /"tools" must be a path/],
	["INVALID_OPTION", { tools: "" }, /"tools"/],
	["INVALID_OPTION", { tools: new URL("https://example.org/a.py") }, /"tools"/],
	[
		"INVALID_OPTION",
		{ tools: new URL("https://a.org/") },
		/got an instance of URL/,
	],
	[
		"INVALID_OPTION",
		{ tools: "https://example.org/a.py" },
		/"tools" must be a path or a file: URL/,
	],
	["INVALID_OPTION", { tools: "file://%2F/a.py" }, /"tools"/],
	["INVALID_OPTION", { tools: { module: "" } }, /"module" must be/],
	["INVALID_OPTION", { tools: {} }, /"tools" must be a path.*\{ module \}/],
	["INVALID_OPTION", { tools: [] }, /"tools" must be/],
	["INVALID_OPTION", { tools: ["a.py"] }, /"tools" must be/],
	["INVALID_OPTION", { tools: { module: "a", file: "a.py" } }, /"tools"/],
	[
		"INVALID_OPTION",
		{ tools: { file: "a.py", path: "a" } },
		/leave "path" out/,
	],
	[
		"INVALID_OPTION",
		{
			tools: [
				{ module: "a", path: "b" },
				{ module: "a", path: "c" },
			],
		},
		/module "a" has two paths/,
	],
	[
		"INVALID_OPTION",
		{ tools: { module: "math", expose: [] } },
		/"expose" must be an array of at least one name/,
	],
	[
		"UNKNOWN_OPTION",
		{ tools: { module: "math", exposes: ["sqrt"] } },
		/did you mean.*"expose"/i,
	],
	[
		"INVALID_OPTION",
		{ tools: "a.py", env: { TOKEN: "a secret", A: 1 } },
		/"env" must be an object with string values.* got \{TOKEN: a string, A: 1\}/,
	],
	[
		"INVALID_OPTION",
		{ tools: "a.py", threadsPerWorker: 0 },
		/"threadsPerWorker"/,
	],
	[
		"INVALID_OPTION",
		{ tools: "a.py", maxMessageBytes: 10 },
		/"maxMessageBytes"/,
	],
	[
		"INVALID_OPTION",
		{ tools: "a.py", hostFunctions: { f: 1 } },
		/"hostFunctions" must be an object of functions, and "f" is not one/,
	],
	["INVALID_OPTION", { tools: "a.py", streamCredit: 0 }, /"streamCredit"/],
	["INVALID_OPTION", { tools: "a.py", logLevel: "loud" }, /"logLevel"/],
	["INVALID_OPTION", { tools: "a.py", opentelemetry: true }, /"opentelemetry"/],
	["INVALID_OPTION", { tools: "a.py", handles: true }, /"handles"/],
	[
		"INVALID_OPTION",
		{ tools: "a.py", handles: { imports: "math" } },
		/"imports" must be an array of names of modules/,
	],
	["INVALID_OPTION", { tools: "a.py", handles: { limit: 0 } }, /"limit"/],
	["UNKNOWN_OPTION", { tools: "a.py", transport: "grpc" }, /"transport"/],
	[
		"INVALID_OPTION",
		{ tools: "a.py", preload: true },
		/"preload" must be "auto", "bridge", "tools", "off" or \{ modules \}/,
	],
	[
		"UNKNOWN_OPTION",
		{ tools: "a.py", preload: { modules: [], module: "numpy" } },
		/python preload.*"module"/,
	],
	[
		"INVALID_OPTION",
		{ tools: "a.py", preload: {} },
		/"modules" must be an array of names/,
	],
	[
		"INVALID_OPTION",
		{ tools: "a.py", preload: { modules: ["numpy", ""] } },
		/"modules" must be an array of names/,
	],
	["INVALID_OPTION", { tools: "a.py", toolPath: "x" }, /"toolPath"/],
	["INVALID_OPTION", { tools: "a.py", environment: {} }, /"environment"/],
	[
		"INVALID_OPTION",
		{
			tools: "a.py",
			python: "python3",
			environment: pythonEnvironment({ requirements: [] }),
		},
		/"python" and "environment"/,
	],
])("%s at the door: %j", (code, options, message) => {
	expect(() => python(options as PythonOptions)).toThrow(OptionsError);
	expect(() => python(options as PythonOptions)).toThrow(
		expect.objectContaining({
			code,
			ran: "no",
			message: expect.stringMatching(message),
		}),
	);
});

test.each<[string, unknown, RegExp]>([
	["UNKNOWN_OPTION", { requirements: [], requirement: [] }, /"requirement"/],
	["INVALID_OPTION", { requirements: "numpy" }, /"requirements"/],
	["INVALID_OPTION", { requirements: ["--index-url=x"] }, /PIP_INDEX_URL/],
	[
		"INVALID_OPTION",
		{ requirements: [], buildTimeoutMs: 1 },
		/"buildTimeoutMs"/,
	],
])("%s of an environment at the door: %j", (code, options, message) => {
	expect(() => pythonEnvironment(options as never)).toThrow(
		expect.objectContaining({ code, message: expect.stringMatching(message) }),
	);
});

test("tools are a path, a URL, or a module with a path of its own", () => {
	const file = resolve("tools.py");
	expect(resolveOptions({ tools: "tools.py" }).tools).toEqual([{ file }]);
	expect(resolveOptions({ tools: pathToFileURL(file) }).tools).toEqual([
		{ file },
	]);
	// What import.meta.resolve() gives.
	expect(resolveOptions({ tools: pathToFileURL(file).href }).tools).toEqual([
		{ file },
	]);
	const resolved = resolveOptions({
		tools: { module: "a.b", path: pathToFileURL(resolve("lib")).href },
		toolPath: ["other"],
	});
	expect(resolved.tools).toEqual([{ module: "a.b" }]);
	const several = resolveOptions({
		tools: [{ module: "math", expose: ["sqrt"] }, { file: "tools.py" }],
	});
	expect(several.tools).toEqual([
		{ module: "math", expose: ["sqrt"] },
		{ file },
	]);
	expect(resolved.toolPath).toEqual([
		join(process.cwd(), "lib"),
		join(process.cwd(), "other"),
	]);
});

test("a preloaded parent imports the tools, or what is named and not the tools", () => {
	const preload = (given: NonNullable<PythonOptions["preload"]>) =>
		resolveOptions({ tools: "a.py", preload: given }).preload;
	expect(preload("off")).toBe("off");
	expect(preload("tools")).toEqual({ modules: [], tools: "imported" });
	expect(preload("bridge")).toEqual({ modules: [], tools: "left" });
	const modules = ["numpy"];
	const named = preload({ modules });
	modules.push("scipy");
	expect(named).toEqual({ modules: ["numpy"], tools: "left" });
});

test.each([
	["linux", 4, {}, { modules: [], tools: "left" }],
	["linux", 3, {}, "off"],
	["darwin", 4, {}, "off"],
	// What it returns may be for the interpreter, or for the linker.
	["linux", 4, { env: () => ({}) }, "off"],
	["linux", 1, { preload: "bridge" }, { modules: [], tools: "left" }],
	["linux", 100, { preload: "off" }, "off"],
] as const)(
	"on %s, %i workers with %j are forked from a parent with %j",
	(platform, workers, given, choice) => {
		const resolved = resolveOptions({
			tools: "a.py",
			preload: "auto",
			...given,
		});
		expect(preloadChoice(resolved, workers, platform)).toEqual(choice);
	},
);

test("what was resolved cannot be changed", () => {
	const resolved = resolveOptions({
		tools: "a.py",
		env: { A: "1" },
		preload: { modules: ["numpy"] },
		sharedMemory: { fromBytes: 8_192 },
	});
	const preload = resolved.preload as ResolvedPreload;
	for (const part of [
		resolved,
		resolved.tools,
		resolved.toolPath,
		resolved.env,
		resolved.sharedMemory,
		preload,
		preload.modules,
	])
		expect(Object.isFrozen(part)).toBe(true);
});

test("a breakpoint stops on the terminal, or where it is said, and never in production", () => {
	const optionsOf = (debug: PythonOptions["debug"]) =>
		resolveOptions({ tools: "a.py", preload: "tools", debug });
	expect(optionsOf(false)).toMatchObject({
		debug: "off",
		preload: { tools: "imported" },
	});
	expect(optionsOf(true)).toMatchObject({ debug: "terminal", preload: "off" });
	expect(optionsOf("socket").debug).toBe("socket");
	expect(() => optionsOf("terminal" as never)).toThrow(OptionsError);
	onTestFinished(() => void vi.unstubAllEnvs());
	vi.stubEnv("NODE_ENV", "production");
	expect(optionsOf(undefined).debug).toBe("off");
	expect(() => optionsOf(true)).toThrow(
		"not allowed when NODE_ENV is production",
	);
});

test("files are watched where that is asked for, and in a development server unless it is not", () => {
	const watchOf = (watch?: PythonOptions["watch"]) =>
		resolveOptions({ tools: "a.py", watch }).watch;
	onTestFinished(() => void vi.unstubAllEnvs());
	for (const [mode, byDefault] of [
		["development", { types: undefined }],
		["production", "off"],
		["test", "off"],
		[undefined, "off"],
	] as const) {
		vi.stubEnv("NODE_ENV", mode);
		expect(watchOf()).toEqual(byDefault);
		expect(watchOf(true)).toEqual({ types: undefined });
		expect(watchOf(false)).toBe("off");
	}
	expect(watchOf({ types: new URL("file:///a/tools.ts") })).toEqual({
		types: "/a/tools.ts",
	});
	for (const wrong of ["yes", { tpes: "a.ts" }, { types: 1 }])
		expect(() => watchOf(wrong as never)).toThrow(OptionsError);
});

/** Every option by its name: the compiler checks that they may be undefined. */
type LeftOut<Options> = { readonly [Name in keyof Options]-?: undefined };

test("an option that is undefined is one that is left out", () => {
	const leftOut: LeftOut<Omit<PythonOptions, "tools">> = {
		toolPath: undefined,
		python: undefined,
		environment: undefined,
		env: undefined,
		cwd: undefined,
		threadsPerWorker: undefined,
		hostFunctions: undefined,
		preload: undefined,
		maxMessageBytes: undefined,
		streamCredit: undefined,
		sharedMemory: undefined,
		handles: undefined,
		opentelemetry: undefined,
		logLevel: undefined,
		watch: undefined,
		debug: undefined,
	};
	const sharedMemory: LeftOut<SharedMemoryOptions> = {
		fromBytes: undefined,
		limitBytes: undefined,
	};
	const expected = resolveOptions({ tools: "a.py" });
	expect(resolveOptions({ tools: "a.py", ...leftOut })).toEqual(expected);
	expect(resolveOptions({ tools: "a.py", sharedMemory })).toEqual(expected);
});
