import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULTS } from "@snakepit/core";
import { WATCHDOG_DEFAULTS } from "../../packages/watchdog/src/watchdog/options.ts";
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

/** Options of other packages than core: the function that takes them, and where their interface is. */
const ELSEWHERE: readonly {
	readonly title: string;
	readonly file: string;
	readonly name: string;
	readonly defaults: Defaults;
}[] = [
	{
		title: "watchdog",
		file: "packages/watchdog/src/watchdog/options.ts",
		name: "WatchdogOptions",
		defaults: WATCHDOG_DEFAULTS,
	},
	{
		title: "guard",
		file: "packages/watchdog/src/guard/guard.ts",
		name: "GuardOptions",
		defaults: {},
	},
];

type Defaults = Readonly<
	Record<string, { readonly value: number | string; readonly reason: string }>
>;

/** docs/reference/options.md */
export function optionsReference(): string {
	const source = sourceOf("packages/core/src/options.ts");
	const ofPool = Object.entries(GROUPS).map(([group, name]) =>
		section(group === "" ? "createPool" : group, source, name, (option) => {
			const key = group === "" ? option : `${group}.${option}`;
			return Object.entries(DEFAULTS).find(([each]) => each === key)?.[1];
		}),
	);
	const elsewhere = ELSEWHERE.map(({ title, file, name, defaults }) =>
		section(title, sourceOf(file), name, (option) => defaults[option]),
	);
	return page("Options", ...ofPool, ...elsewhere);
}

function sourceOf(file: string): string {
	return readFileSync(join(root, file), "utf8");
}

function section(
	title: string,
	source: string,
	name: string,
	defaultOf: (option: string) => Defaults[string] | undefined,
): string {
	const rows = properties(source, name).map(({ option, type, comment }) => {
		const entry = defaultOf(option);
		return [
			`\`${option}\``,
			`\`${type}\``,
			entry === undefined ? "" : shown(entry.value),
			[comment, entry === undefined ? "" : `*${entry.reason}*`]
				.filter((text) => text !== "")
				.join(" "),
		];
	});
	return `## ${title}\n\n${interfaceComment(source, name)}\n\n${table(["option", "type", "default", "meaning, *reason for the default*"], rows)}`;
}

function shown(value: number | string): string {
	if (typeof value === "string") return `\`"${value}"\``;
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
		.replaceAll(/^\s*\/\*\*|\s*\*\/\s*$|^\s*\*(?!\/)/gm, "")
		.replaceAll(/\{@link (\w+)\}/g, "`$1`")
		.replaceAll(/\s+/g, " ")
		.trim();
}
