import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LayerReport } from "@snakepit/core/protection";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../../scripts/test-data-directory.ts";
import { snakepit } from "../run/started.ts";

function doctor(
	args: readonly string[],
	env: NodeJS.ProcessEnv = {},
	cwd: string = process.cwd(),
) {
	return snakepit(["doctor", ...args], {
		cwd,
		env: { ...process.env, NODE_OPTIONS: "--no-warnings", ...env },
	});
}

function statuses(stdout: string): Readonly<Record<string, string>> {
	const layers = JSON.parse(stdout) as readonly LayerReport[];
	return Object.fromEntries(layers.map(({ layer, status }) => [layer, status]));
}

test("every layer is reported, with the protections of this package, and nothing is left behind", () => {
	const dataDir = temporaryDirectory();
	const { status, stdout, stderr } = doctor(["--data-dir", dataDir, "--json"]);
	expect(stderr).toBe("");
	expect(status).toBe(0);
	expect(statuses(stdout)).toMatchObject({
		"exit hooks": "active",
		"process table": "active",
		reaper: "active",
		watchdog: "available",
	});
	expect(statuses(stdout)).toHaveProperty("guard");
	expect(readdirSync(dataDir)).toEqual([]);
});

test("for people it is a table", () => {
	const { status, stdout } = doctor(["--data-dir", temporaryDirectory()]);
	expect(status).toBe(0);
	expect(stdout).toMatch(
		/^watchdog +available +when the program is killed, a separate process/m,
	);
});

test("a protection that cannot work here is named with the reason, and is not a failure", () => {
	const dataDir = temporaryDirectory();
	// As in an install without optional packages.
	const hook = `import module from "node:module";
		const resolve = module._resolveFilename;
		module._resolveFilename = (name, ...rest) => {
			if (name.startsWith("@snakepit/native-")) throw new Error("It is not installed.");
			return resolve(name, ...rest);
		};`;
	const { status, stdout } = doctor(["--data-dir", dataDir, "--json"], {
		NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}`,
	});
	expect(status).toBe(0);
	const layers = JSON.parse(stdout) as readonly LayerReport[];
	const guard = layers.find(({ layer }) => layer === "guard");
	expect(guard).toMatchObject({ status: "unavailable" });
	expect(guard?.detail).toMatch(/not found/);
	expect(guard?.remedy).toMatch(/npm install @snakepit\/native-/);
});

test("a ledger that cannot be used is a failure", () => {
	const file = join(temporaryDirectory(), "file");
	writeFileSync(file, "");
	const { status, stdout } = doctor(["--data-dir", file, "--json"]);
	expect(statuses(stdout)).toMatchObject({ ledger: "unavailable" });
	expect(status).toBe(1);
});

test("a misspelt argument is answered with the usage", () => {
	const { status, stdout, stderr } = doctor(["--jsn"]);
	expect(stdout).toBe("");
	expect(stderr).toMatch(/^snakepit: unknown option '--jsn'/);
	expect(status).toBe(2);
	const help = doctor(["--help"]);
	expect(help).toMatchObject({ status: 0, stderr: "" });
	expect(help.stdout).toMatch(/Usage: snakepit doctor/);
});

test("where the adapter for Python is installed, its interpreter is reported, and none is no failure", () => {
	const program = temporaryDirectory();
	mkdirSync(join(program, "node_modules/@snakepit"), { recursive: true });
	symlinkSync(
		join(import.meta.dirname, "../../../adapter-python"),
		join(program, "node_modules/@snakepit/adapter-python"),
	);
	const { status, stdout } = doctor(
		["--data-dir", temporaryDirectory(), "--json"],
		{ VIRTUAL_ENV: join(program, "no-environment") },
		program,
	);
	expect(status).toBe(0);
	const layers = JSON.parse(stdout) as readonly LayerReport[];
	expect(layers.find(({ layer }) => layer === "python")).toMatchObject({
		status: "unavailable",
		detail: expect.stringContaining("no-environment"),
	});
});

test("where telemetry is installed, an SDK that gets nothing from it is named with the remedy, and is no failure", () => {
	const program = temporaryDirectory();
	mkdirSync(join(program, "node_modules/@snakepit"), { recursive: true });
	symlinkSync(
		join(import.meta.dirname, "../../../telemetry"),
		join(program, "node_modules/@snakepit/telemetry"),
	);
	// As an SDK registers itself with an API that is older than any that the package takes.
	writeFileSync(
		join(program, "instrumentation.mjs"),
		'globalThis[Symbol.for("opentelemetry.js.api.1")] = { version: "1.0.0", trace: {}, metrics: {} };',
	);
	const telemetry = (NODE_OPTIONS: string): LayerReport | undefined => {
		const { status, stdout } = doctor(
			["--data-dir", temporaryDirectory(), "--json"],
			{ NODE_OPTIONS },
			program,
		);
		expect(status).toBe(0);
		const layers = JSON.parse(stdout) as readonly LayerReport[];
		return layers.find(({ layer }) => layer === "telemetry");
	};
	expect(telemetry("--no-warnings")).toMatchObject({
		status: "available",
		detail: "no OpenTelemetry SDK is registered in this program",
	});
	expect(
		telemetry("--no-warnings --import ./instrumentation.mjs"),
	).toMatchObject({
		status: "unavailable",
		detail: expect.stringContaining("@opentelemetry/api 1.0.0"),
		remedy: expect.stringContaining("npm install @opentelemetry/api@1.0.0"),
	});
});
