import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULTS } from "@snakepit/core";
import { root } from "../run.ts";
import { page, table } from "./page.ts";

/** Names of the option groups and the interface that documents each. */
const GROUPS: Readonly<Record<string, string>> = {
	"": "PoolOptions",
	size: "SizeOptions",
	start: "StartOptions",
	queue: "QueueOptions",
	calls: "CallsOptions",
	heartbeat: "HeartbeatOptions",
	recycle: "RecycleOptions",
	sessions: "SessionsOptions",
	stop: "StopOptions",
	output: "OutputOptions",
	audit: "AuditOptions",
	history: "HistoryBoundOptions",
};

/** docs/reference/options.md */
export function optionsReference(): string {
	const source = readFileSync(
		join(root, "packages/core/src/options.ts"),
		"utf8",
	);
	const sections = Object.entries(GROUPS).map(([group, name]) => {
		const rows = properties(source, name).map(({ option, type, comment }) => {
			const key = group === "" ? option : `${group}.${option}`;
			const entry = Object.entries(DEFAULTS).find(([each]) => each === key);
			const value = entry?.[1].value;
			return [
				`\`${option}\``,
				`\`${type}\``,
				value === undefined ? "" : shown(value),
				[comment, entry === undefined ? "" : `*${entry[1].reason}*`]
					.filter((text) => text !== "")
					.join(" "),
			];
		});
		const title = group === "" ? "createPool" : group;
		return `## ${title}\n\n${interfaceComment(source, name)}\n\n${table(["option", "type", "default", "meaning, *reason for the default*"], rows)}`;
	});
	return page("Options", ...sections);
}

function shown(value: number): string {
	return value === Number.POSITIVE_INFINITY
		? "no bound"
		: value.toLocaleString("en-US").replaceAll(",", " ");
}

function body(source: string, name: string): string {
	const start = source.indexOf(`export interface ${name} {`);
	if (start === -1) throw new Error(`options.ts has no interface ${name}.`);
	return source.slice(
		source.indexOf("{", start) + 1,
		source.indexOf("\n}", start),
	);
}

function interfaceComment(source: string, name: string): string {
	const before = source.slice(0, source.indexOf(`export interface ${name} {`));
	return plain(before.slice(before.lastIndexOf("/**")));
}

function properties(
	source: string,
	name: string,
): readonly { option: string; type: string; comment: string }[] {
	const found = body(source, name).matchAll(
		/(\/\*\*[\s\S]*?\*\/\s*)?readonly (\w+)\??: ([^;]+);/g,
	);
	return [...found].map(([, comment = "", option = "", type = ""]) => ({
		option,
		type: type.replaceAll(/\s+/g, " "),
		comment: plain(comment),
	}));
}

/** A comment without its signs. */
function plain(comment: string): string {
	return comment
		.replaceAll(/^\s*\/\*\*|\*\/\s*$|^\s*\*/gm, "")
		.replaceAll(/\s+/g, " ")
		.trim();
}
