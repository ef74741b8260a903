import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { runBundled } from "../../../../scripts/run-bundled.ts";

const HERE = import.meta.dirname;
const GRPC = {
	"@grpc/grpc-js": join(HERE, "../../node_modules/@grpc/grpc-js"),
};

function bundled(
	format: "esm" | "cjs",
	installed: Readonly<Record<string, string>>,
) {
	const directory = mkdtempSync(join(tmpdir(), "bundled-"));
	onTestFinished(() => removeDirectory(directory));
	const program = join(HERE, "program.ts");
	const external = ["better-sqlite3", ...Object.keys(installed)];
	return runBundled({ program, format, external, installed, directory });
}

test("both transports work in a bundle that is CommonJS", async () => {
	expect(await bundled("cjs", {})).toEqual({
		status: 0,
		stdout: "framed: loaded\ngrpc: loaded\n",
		stderr: "",
	});
});

test("and in one of esbuild's that is an ES module, with gRPC outside", async () => {
	expect(await bundled("esm", GRPC)).toEqual({
		status: 0,
		stdout: "framed: loaded\ngrpc: loaded\n",
		stderr: "",
	});
});

test("with gRPC in that, the error says what to keep outside, and what does without", async () => {
	const { stdout } = await bundled("esm", {});
	const [framed, grpc] = stdout.split("\n");
	expect(framed).toBe("framed: loaded");
	expect(grpc).toMatch(/^grpc: CONNECT_FAILED .*Dynamic require of "\w+"/);
	expect(grpc).toContain('external: ["@grpc/grpc-js"]');
	expect(grpc).toContain('transport: "framed"');
});
