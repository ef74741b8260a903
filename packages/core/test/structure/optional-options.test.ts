import { join } from "node:path";
import { expect, test } from "vitest";
import { codeOf, sourceFiles } from "./source-imports.ts";

const PACKAGES = join(import.meta.dirname, "../../..");
/** What users write down and core reads, by other names than `...Options`. */
const ALSO_GIVEN: readonly string[] = [
	"Engagement",
	"LaunchSpec",
	"LayerReport",
	"WorkerLogRecord",
	"PingReply",
];

/** The properties of an interface that may be left out and must not be `undefined`. */
function refusing(name: string, body: string): readonly string[] {
	const found: string[] = [];
	for (const match of body.matchAll(/^\treadonly (\w+)\?:/gm)) {
		let depth = 0;
		let end = match.index + match[0].length;
		for (; body[end] !== ";" || depth > 0; end++)
			if (body[end] === "{") depth++;
			else if (body[end] === "}") depth--;
		const type = body.slice(match.index + match[0].length, end);
		if (!/\b(undefined|unknown)$/.test(type.trimEnd()))
			found.push(`${name}.${match[1]}`);
	}
	return found;
}

// Under `exactOptionalPropertyTypes` a caller who passes on what he may have, `{ signal }`, would not compile otherwise.
test("whatever can be left out of what users give can be undefined as well", () => {
	const seen: string[] = [];
	const found: string[] = [];
	for (const name of [
		"core",
		"adapter-python",
		"adapter-grpc-python",
		"adapter-http",
		"adapter-lsp",
		"adapter-mcp",
		"adapter-ray",
		"adapter-stdio",
		"control",
		"telemetry",
		"watchdog",
	]) {
		const folder = join(PACKAGES, name, "src");
		for (const path of sourceFiles(folder))
			for (const [, name = "", body = ""] of codeOf(folder, path).matchAll(
				/^export interface (\w+)[^{]*\{\n(.*?)^\}/gms,
			))
				if (name.endsWith("Options") || ALSO_GIVEN.includes(name)) {
					seen.push(name);
					found.push(...refusing(name, body));
				}
	}
	expect(found).toEqual([]);
	expect(seen).toEqual(
		expect.arrayContaining([
			...ALSO_GIVEN,
			"ExecuteOptions",
			"PoolOptions",
			"PythonGrpcOptions",
			"TelemetryOptions",
			"WatchdogOptions",
		]),
	);
});
