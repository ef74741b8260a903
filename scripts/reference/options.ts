import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Check } from "@snakepit/core/options";
import { markdownTable } from "../markdown-table.ts";
import { root } from "../run.ts";
import {
	type Member,
	type PackageEntry,
	packageEntries,
	type TypeScriptProject,
} from "../typescript-project.ts";
import { grouped, page } from "./page.ts";

/**
 * Every type of options that a package exports, in the order in which they are needed. `PoolOptions` has its checks in
 * `POOL_CHECKS` and its defaults in `POOL_DEFAULTS`, or in the `DEFAULTS` of its file; a third entry is another name.
 */
const TYPES: readonly (readonly [title: string, name: string, as?: string])[] =
	[
		["## createPool", "PoolOptions"],
		["### size", "SizeOptions"],
		["### start", "StartOptions"],
		["### queue", "QueueOptions"],
		["### calls", "CallsOptions"],
		["### heartbeat", "HeartbeatOptions"],
		["### recycle", "RecycleOptions"],
		["### sessions", "SessionsOptions"],
		["### stop", "StopOptions"],
		["### output", "OutputOptions"],
		["### observe", "ObserveOptions"],
		["## openRun", "RunOptions"],
		["### audit", "AuditOptions"],
		["### jobs", "JobsOptions"],
		["### history", "HistoryBoundOptions", "HISTORY"],
		["### control", "RunControlOptions"],
		["## run.job", "JobOptions"],
		["## pool.execute and pool.stream", "ExecuteOptions"],
		["### retry", "RetryOptions"],
		["## pool.map", "MapOptions"],
		["## pool.session", "SessionOptions"],
		["## pool.close", "CloseOptions"],
		["## pool.recycle", "ReplaceOptions"],
		["## pool.recycle, restart, pause, resume and resize", "ControlOptions"],
		["## attach", "AttachOptions"],
		["## python", "PythonOptions"],
		["### tools", "ToolSource", "SOURCE"],
		["### preload", "PreloadOptions"],
		["### watch", "WatchOptions"],
		["### handles", "HandleOptions"],
		["### sharedMemory", "SharedMemoryOptions"],
		["## pythonEnvironment", "PythonEnvironmentOptions", "ENVIRONMENT"],
		["## pythonGrpc", "PythonGrpcOptions"],
		["## rayPython", "RayPythonOptions"],
		["### resources", "ResourceOptions"],
		["### connection", "ConnectionOptions"],
		["### connection.tls", "TlsOptions"],
		["## jsonRpc", "JsonRpcOptions"],
		["## lines", "LinesOptions"],
		["## jsonRpc, lines and lsp", "StdioOptions"],
		["## lsp", "LspOptions"],
		["## http", "HttpOptions"],
		["## mcp", "McpOptions"],
		["## serveMcp", "ServeMcpOptions", "SERVE"],
		["### serveMcp.http", "McpHttpOptions"],
		["## programs of adapters", "ProgramOptions"],
		["## watchdog", "WatchdogOptions"],
		["## telemetry", "TelemetryOptions"],
		["### commands", "CommandTelemetry"],
		["### commands.traces", "TracesPerSecond"],
		["### spans", "CallSpans"],
		["## callMetrics", "CallMetricsOptions"],
		["## logEvents", "LogEventsOptions"],
		["## mountDashboard", "MountOptions"],
		["## mountDashboard and dashboardHandler", "DashboardOptions"],
		["## readHistory", "HistoryOptions", "READ"],
		["## doctor", "DoctorOptions"],
		["## reapDeadRuns", "ReapOptions"],
		["## encodeValue", "EncodeOptions"],
	];
/** Ends in `Options` and is nothing that a user gives: what an adapter is given with a call. */
const FOR_ADAPTERS = "CallOptions";
/** Its options are described in their types. */
const FOR_TESTS = "@snakepit/core/testing";
/** Types of the language and the platform. */
const GLOBALS: readonly string[] = [
	...["AbortSignal", "AsyncIterable", "Iterable", "Pick", "Promise"],
	...["Readonly", "Record", "URL"],
];
/** Types of libraries, by the package that a user imports them from. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
	"@modelcontextprotocol/sdk/types.js": [
		...["CreateMessageRequest", "CreateMessageResult"],
		...["ElicitRequest", "ElicitResult", "Root"],
	],
	"@opentelemetry/api": ["MeterProvider", "Span", "TracerProvider"],
	"vscode-languageserver-protocol": ["ClientCapabilities"],
};
/** What a timer can hold. */
const LONGEST_MS = 2 ** 31 - 1;

/** What an option is when it is left out, and why. */
interface Default {
	readonly value: unknown;
	readonly reason: string;
	readonly check?: Check;
}

interface OptionType {
	readonly heading: string;
	readonly name: string;
	readonly file: string;
	readonly meaning: string;
	readonly options: readonly Member[];
	readonly defaults: Readonly<Record<string, Default>>;
	readonly checks: Readonly<Record<string, Check | undefined>>;
}

/** docs/reference/options.md */
export async function optionsReference(
	project: TypeScriptProject,
): Promise<string> {
	const entries = packageEntries().map((entry) => {
		const exported = project.exportsOf(join(root, entry.folder, entry.source));
		return { ...entry, names: new Set(exported.keys()) };
	});
	assertComplete(entries);
	const types = await Promise.all(
		TYPES.map(([heading, name, as]) => readType(project, heading, name, as)),
	);
	return page(
		"Options",
		`The options of every function. The unit is in the name: \`…Ms\` are milliseconds, at most 24.8 days (${grouped(LONGEST_MS)} ms), the limit of a timer; \`…Bytes\` are bytes; other numbers are counts. All numbers must be whole, so round computed ones, such as the rest of a deadline. \`undefined\` means the same as leaving an option out. A misspelt option, or a value that is out of range or of the wrong type, is an \`OptionsError\` before anything is started (except in \`encodeValue\`, which does not check). Options of \`@snakepit/core/testing\` are described in their types.`,
		...types.map((type) => section(type, types, entries)),
		"## Types",
		"Where the types that are named above are imported from.",
		markdownTable(["type", "import from"], importsOf(types, entries)),
	);
}

const files = globSync("packages/*/src/**/*.ts", { cwd: root });
const sources = new Map(
	files.map((file) => [file, readFileSync(join(root, file), "utf8")]),
);

/** An address from which users import, with what it has. */
type Entry = PackageEntry & { readonly names: ReadonlySet<string> };

/** @throws Error when an entry exports a type of options that is not in the list. */
function assertComplete(entries: readonly Entry[]): void {
	const listed = new Set([FOR_ADAPTERS, ...TYPES.map(([, name]) => name)]);
	const missing = entries
		.filter(({ address }) => address !== FOR_TESTS)
		.flatMap(({ names }) => [...names])
		.filter((name) => /^[A-Z]\w*Options$/.test(name) && !listed.has(name));
	if (missing.length > 0)
		throw new Error(
			`scripts/reference/options.ts lacks ${missing.join(", ")}.`,
		);
}

/** The types that a section names, its own included, each with the address from which users import it. */
function namedBy(
	{ name, file, options }: OptionType,
	entries: readonly Entry[],
): readonly (readonly [name: string, address: string])[] {
	const own = new RegExp(`interface ${name}<\\s*(\\w+)`);
	const parameter = own.exec(sources.get(file) ?? "")?.[1];
	const names = options.flatMap(
		({ type }) => type.replaceAll(/"[^"]*"/g, "").match(/\b[A-Z]\w*/g) ?? [],
	);
	return [name, ...names]
		.filter((each) => each !== parameter && !GLOBALS.includes(each))
		.map((each) => [each, addressOf(each, file, entries)]);
}

/** @throws Error when a user cannot import a type that the page names. */
function addressOf(
	name: string,
	file: string,
	entries: readonly Entry[],
): string {
	const exporting = entries.filter(({ names }) => names.has(name));
	const own = exporting.filter(({ folder }) => file.startsWith(`${folder}/`));
	const [shortest] = (own.length > 0 ? own : exporting).toSorted(
		(a, b) => a.address.length - b.address.length,
	);
	const foreign = Object.keys(FOREIGN).find((address) =>
		FOREIGN[address]?.includes(name),
	);
	const address = shortest?.address ?? foreign;
	if (address === undefined)
		throw new Error(
			`${file} names ${name} in options, and no entry of a package exports it.`,
		);
	return address;
}

function importsOf(
	types: readonly OptionType[],
	entries: readonly Entry[],
): readonly string[][] {
	// The first section that names it decides.
	const addresses = new Map(
		types.flatMap((type) => namedBy(type, entries)).toReversed(),
	);
	return [...addresses]
		.toSorted(([a], [b]) => (a < b ? -1 : 1))
		.map(([name, address]) => [`\`${name}\``, `\`${address}\``]);
}

/** The file that exports this interface or constant. */
function fileOf(declaration: string): string | undefined {
	const pattern = new RegExp(`^export ${declaration}\\b`, "m");
	return files.find((file) => pattern.test(sources.get(file) ?? ""));
}

async function readType(
	project: TypeScriptProject,
	heading: string,
	name: string,
	as = name
		.replace(/Options$/, "")
		.replace(/\B[A-Z]/g, "_$&")
		.toUpperCase(),
): Promise<OptionType> {
	const file = fileOf(`interface ${name}`) ?? "";
	const symbol = project.exportsOf(join(root, file)).get(name);
	if (symbol === undefined) throw new Error(`No file exports ${name}.`);
	const own = fileOf(`const ${as}_DEFAULTS`);
	const defaults =
		own === undefined
			? await sharedDefaults(file, heading)
			: entriesOf(own, `${as}_DEFAULTS`, await exportsOf(own));
	const checks = fileOf(`const ${as}_CHECKS`);
	return {
		...{ heading, name, file, meaning: project.commentOf(symbol).meaning },
		options: project.membersOf(symbol),
		defaults,
		checks:
			checks === undefined
				? Object.fromEntries(
						Object.entries(defaults).map(([option, { check }]) => [
							option,
							check,
						]),
					)
				: ((await exportsOf(checks))[`${as}_CHECKS`] as OptionType["checks"]),
	};
}

/** The defaults in the file of an interface, or those of the group that it is. */
async function sharedDefaults(
	file: string,
	heading: string,
): Promise<Record<string, Default>> {
	const values = await exportsOf(file);
	const all: Record<string, Default> = {};
	for (const [name, value] of Object.entries(values)) {
		if (!name.endsWith("DEFAULTS")) continue;
		const group = (value as Record<string, unknown>)[
			heading.split(/[ .]/).at(-1) ?? ""
		];
		if (isTable(group)) return entriesOf(file, "", { "": group });
		Object.assign(all, entriesOf(file, name, values));
	}
	return all;
}

/** A table of defaults: rows with their reasons, or values whose reasons are comments. */
function entriesOf(
	file: string,
	name: string,
	values: Readonly<Record<string, unknown>>,
): Record<string, Default> {
	const body =
		new RegExp(`^export const ${name}\\b[\\s\\S]*?^\\}`, "m").exec(
			sources.get(file) ?? "",
		)?.[0] ?? "";
	const reasons = Object.fromEntries(
		[...body.matchAll(/^\t\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(\w+):/gm)].map(
			([, comment = "", option]) => [
				option,
				comment
					.replaceAll(/^\s*\*/gm, "")
					.replaceAll(/\s+/g, " ")
					.trim(),
			],
		),
	);
	const entries = Object.entries(values[name] as object);
	return Object.fromEntries(
		entries.map(([option, value]): [string, Default] => {
			if (isTable(value) && "value" in value)
				return [option, value as unknown as Default];
			// The values of a group are in its own section.
			const single = isTable(value) && !isCredit(value) ? undefined : value;
			return [option, { value: single, reason: reasons[option] ?? "" }];
		}),
	);
}

/** A default that depends on the size. */
function isCredit(
	value: unknown,
): value is { readonly chunks: number; readonly smallBytes: number } {
	return isTable(value) && "chunks" in value;
}

function isTable(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function exportsOf(
	file: string,
): Promise<Readonly<Record<string, unknown>>> {
	return await import(pathToFileURL(join(root, file)).href);
}

function section(
	type: OptionType,
	types: readonly OptionType[],
	entries: readonly Entry[],
): string {
	const address = addressOf(type.name, type.file, entries);
	return [
		type.heading,
		`${type.meaning} Type: \`${type.name}\` of \`${address}\`.`,
		markdownTable(
			[
				"option",
				"type",
				"default",
				"limits",
				"meaning, *reason for the default*",
			],
			type.options.map((option) => row(type, option, types)),
		),
	].join("\n\n");
}

function row(
	{ name: interfaceName, file, defaults, checks }: OptionType,
	{ name, type, meaning, tags }: Member,
	types: readonly OptionType[],
): string[] {
	const { value, reason = "" } = defaults[name] ?? {};
	const byDefault = value === undefined ? "" : formatted(name, value);
	// Editors show the comment, not the table.
	const inComment = byDefault.replaceAll("`", "");
	if ((tags["default"] ?? "") !== inComment)
		throw new Error(
			`${file}: the comment of ${interfaceName}.${name} must end with "@default ${inComment}", not "${tags["default"] ?? ""}".`,
		);
	const group = types.find(
		({ name, heading }) =>
			heading.startsWith("###") && new RegExp(`\\b${name}\\b`).test(type),
	);
	const text = meaning || group?.meaning;
	if (!text)
		throw new Error(`${file}: ${interfaceName}.${name} has no comment.`);
	return [
		`\`${name}\``,
		group === undefined
			? `\`${type}\``
			: `[\`${type}\`](#${group.heading.slice(4).toLowerCase().replaceAll(".", "")})`,
		byDefault,
		limits(name, type, checks[name]),
		reason === "" ? text : `${text} *${reason}*`,
	];
}

function formatted(option: string, value: unknown): string {
	if (isCredit(value))
		return `${value.chunks}, and more of small ones, as long as all together have less than ${quantity("smallBytes", value.smallBytes)}`;
	if (typeof value !== "number") return `\`${JSON.stringify(value)}\``;
	return value === Number.POSITIVE_INFINITY
		? "no bound"
		: quantity(option, value);
}

/** What the check says to a value of no type that it takes, as far as the type does not say it. */
function limits(
	option: string,
	type: string,
	check: Check | undefined,
): string {
	const wrong = check?.(Symbol("of no type"))?.replace(/^must be /, "") ?? "";
	const range = /^a whole number from (-?\d+) to (\d+)$/.exec(wrong);
	if (range === null)
		return type === "string" ? wrong.replace("a string that is ", "") : "";
	const [least, most] = [Number(range[1]), Number(range[2])];
	if (most === Number.MAX_SAFE_INTEGER)
		return `${quantity(option, least)} or more`;
	if (most !== LONGEST_MS || !option.endsWith("Ms"))
		return `${quantity(option, least)} to ${quantity(option, most)}`;
	const unlimited = check?.(Number.POSITIVE_INFINITY) === undefined;
	return `${quantity(option, least)} to 24.8 days${unlimited ? ", or `Infinity` for no limit" : ""}`;
}

/** The units that names of options end with, each with its larger ones. */
const UNITS: readonly (readonly [
	suffix: string,
	one: string,
	many: string,
	...larger: (readonly [size: number, name: string])[],
])[] = [
	["Ms", "ms", "ms", [86_400_000, "days"], [3_600_000, "h"], [60_000, "min"]],
	["Bytes", "byte", "bytes", [2 ** 30, "GiB"], [2 ** 20, "MiB"], [1024, "KiB"]],
];

/** A number with the unit that the name of its option says, and in a larger one where it is so many of that. */
function quantity(option: string, value: number): string {
	const unit = UNITS.find(([suffix]) => option.endsWith(suffix));
	if (unit === undefined) return grouped(value);
	const [, one, many, ...larger] = unit;
	const [size, name] =
		larger.find(([size]) => value > 0 && value % size === 0) ?? [];
	const also = size === undefined ? "" : ` (${value / size} ${name})`;
	return `${grouped(value)} ${value === 1 ? one : many}${also}`;
}
