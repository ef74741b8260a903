import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { root } from "../../../../scripts/run.ts";
import { testWorkersEnv } from "../../../../scripts/test-workers.ts";

const { strippedPath } = createRequire(import.meta.url)(
	"../../../../scripts/stripped-sources-hook.cjs",
) as { strippedPath(file: string): string };

test("a program that a test starts loads what was stripped, and what a file has by now where it was changed since", () => {
	const directory = mkdtempSync(join(root, "packages/core/.cache-"));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	const main = join(directory, "main.ts");
	const imported = join(directory, "imported.ts");
	const printed = (): string =>
		execFileSync(process.execPath, [main], {
			encoding: "utf8",
			env: { ...process.env, ...testWorkersEnv("") },
		});
	writeFileSync(main, 'import { is } from "./imported.ts";\nconsole.log(is);');
	writeFileSync(imported, 'export const is: string = "not stripped";');
	expect(printed()).toBe("not stripped\n");
	const path = strippedPath(imported);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, 'export const is = "stripped";');
	onTestFinished(() => rmSync(path));
	expect(printed()).toBe("stripped\n");
	writeFileSync(imported, 'export const is: string = "changed";');
	expect(printed()).toBe("changed\n");
});
