import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { dataDirectory } from "../../../../scripts/test-data-directory.ts";
import type { SpanOfProgram } from "./program.ts";

async function spansOf(...args: readonly string[]): Promise<SpanOfProgram[]> {
	const program = join(import.meta.dirname, "program.ts");
	const { stdout } = await promisify(execFile)(
		process.execPath,
		[
			...["--conditions=snakepit-source", program],
			...[dataDirectory(), ...args],
		],
		{ timeout: 90_000, maxBuffer: 1e7 },
	);
	return JSON.parse(stdout);
}

const ofLibraries = ({ by }: SpanOfProgram): boolean =>
	by.startsWith("@opentelemetry/instrumentation");
let followed: readonly SpanOfProgram[];
let unfollowed: readonly SpanOfProgram[];
beforeAll(async () => {
	followed = await spansOf();
	unfollowed = await spansOf("unfollowed");
}, 180_000);

test("instrumentations of gRPC, HTTP and connections make no span of the transport of a pool, nor of a process that a guard starts, and those of an HTTP call are below its attempt", () => {
	expect(followed.filter(ofLibraries)).toEqual([
		{
			name: "ipc.connect",
			by: "@opentelemetry/instrumentation-net",
			within: "POST",
		},
		{
			name: "POST",
			by: "@opentelemetry/instrumentation-http",
			within: "attempt POST /echo",
		},
	]);
	expect(followed.map(({ name }) => name)).toContain("call echo");
});

test("a listener that hears of what arrives on these connections has its spans", () => {
	const names = followed.map(({ name }) => name);
	expect(names.filter((name) => name === "a log record")).toHaveLength(2);
	expect(names.filter((name) => name === "a printed line")).toHaveLength(2);
});

test("without telemetry's part they would: connections, pings and probes", () => {
	const names = unfollowed.filter(ofLibraries).map(({ name }) => name);
	expect(new Set(names)).toEqual(
		new Set([
			"grpc.snakepit.bridge.v1.Bridge/Ping",
			"grpc.snakepit.bridge.v1.Bridge/Converse",
			"ipc.connect",
			"GET",
			"POST",
		]),
	);
});
