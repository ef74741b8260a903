import { expect, test } from "vitest";
import {
	blocksOf,
	runProgram,
	writeFiles,
} from "../../../scripts/page-programs.ts";
import { SERVERS } from "./servers.ts";

test("the README's program runs", () => {
	const [{ code } = { code: "" }] = blocksOf(
		new URL("../README.md", import.meta.url),
	);
	// Below npx it starts twice as slowly.
	const command = '["npx", "pyright-langserver", "--stdio"]';
	expect(code).toContain(command);
	const local = code.replace(command, JSON.stringify(SERVERS.pyright.command));
	const directory = writeFiles(import.meta.dirname, [
		{ name: "main.ts", code: local },
	]);
	expect(runProgram(directory, "main.ts")).toMatchObject({
		stdout: "(variable) price: float\n",
		stderr: "",
	});
});
