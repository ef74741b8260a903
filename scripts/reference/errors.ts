import { join } from "node:path";
import { markdownTable } from "../markdown-table.ts";
import { root } from "../run.ts";
import type { TypeScriptProject } from "../typescript-project.ts";
import { page } from "./page.ts";

const CODES = /Codes$/;

/** docs/reference/errors.md, from the interfaces of codes: each is named by its class, and a member is a code. */
export function errorsReference(project: TypeScriptProject): string {
	const codesIn = (file: string): string => codes(project, file);
	return page(
		"Errors",
		'Every error is a `SnakepitError` with a stable `code`. `ran` reports whether the work may have begun: after `"no"` a retry is safe, after `"maybe"` only if the work is idempotent. A call that waits for another attempt (`retry`) fails with `"maybe"` even where the table has "no": a start error, for one.',
		codesIn("packages/core/src/contract/error-codes.ts"),
		"## Python workers",
		"`@snakepit/adapter-python` adds these codes to those of `StartError`; their type is `PythonStartErrorCode`.",
		codesIn("packages/adapter-python/src/start-error-codes.ts"),
		"## Workers on a Ray cluster",
		"`@snakepit/adapter-ray` adds these to those of Python workers; their type is `RayStartErrorCode`.",
		codesIn("packages/adapter-ray/src/start-error-codes.ts"),
		"## HTTP workers",
		"`@snakepit/adapter-http` adds these; their type is `HttpStartErrorCode`.",
		codesIn("packages/adapter-http/src/failures.ts"),
	);
}

function codes(project: TypeScriptProject, file: string): string {
	const rows = [...project.exportsOf(join(root, file))]
		.filter(([name]) => CODES.test(name) && name !== "ErrorCodes")
		.flatMap(([name, symbol]) =>
			project.membersOf(symbol).map(({ name: code, type, meaning, tags }) => [
				`\`${code}\``,
				name.replace(CODES, "").replace(/^(Python|Http)/, ""),
				type === "Ran" ? "no or maybe" : type.replaceAll('"', ""),
				meaning,
				// From where the page is.
				(tags["remedy"] ?? "").replace(/docs\/([\w-]+\.md)/, "[$1](../$1)"),
			]),
		);
	return markdownTable(["code", "class", "ran", "meaning", "what to do"], rows);
}
