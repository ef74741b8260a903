import {
	PYTHON_GRPC_CHECKS,
	DEFAULTS as PYTHON_GRPC_DEFAULTS,
} from "../../packages/adapter-grpc-python/src/options.ts";
import {
	HTTP_CHECKS,
	HTTP_DEFAULTS,
} from "../../packages/adapter-http/src/options.ts";
import { LSP_CHECKS } from "../../packages/adapter-lsp/src/options.ts";
import { MCP_CHECKS } from "../../packages/adapter-mcp/src/options.ts";
import {
	MCP_HTTP_CHECKS,
	SERVE_CHECKS,
	SERVE_DEFAULTS,
} from "../../packages/adapter-mcp/src/server/options.ts";
import {
	ENVIRONMENT_CHECKS,
	ENVIRONMENT_DEFAULTS,
} from "../../packages/adapter-python/src/environment/python-environment.ts";
import { DEFAULTS as PYTHON_DEFAULTS } from "../../packages/adapter-python/src/options.ts";
import {
	HANDLE_CHECKS,
	PRELOAD_CHECKS,
	PYTHON_CHECKS,
	SHARED_MEMORY_CHECKS,
	WATCH_CHECKS,
} from "../../packages/adapter-python/src/resolve-options.ts";
import { SOURCE_CHECKS } from "../../packages/adapter-python/src/tool-sources.ts";
import {
	CONNECTION_CHECKS,
	RAY_PYTHON_CHECKS,
	DEFAULTS as RAY_PYTHON_DEFAULTS,
	RESOURCE_CHECKS,
	TLS_CHECKS,
} from "../../packages/adapter-ray/src/options.ts";
import {
	JSON_RPC_CHECKS,
	JSON_RPC_DEFAULTS,
} from "../../packages/adapter-stdio/src/json-rpc-options.ts";
import { LINES_CHECKS } from "../../packages/adapter-stdio/src/lines-adapter.ts";
import {
	STDIO_CHECKS,
	STDIO_DEFAULTS,
} from "../../packages/adapter-stdio/src/stdio-options.ts";
import {
	PROGRAM_CHECKS,
	PROGRAM_DEFAULTS,
} from "../../packages/core/src/options/program.ts";
import { commentsOf } from "./declared.ts";
import {
	group,
	type Left,
	type OptionType,
	plainly,
	taken,
} from "./option-type.ts";
import { quantity } from "./quantity.ts";

const core = "packages/core/src";
const python = "packages/adapter-python/src";
const grpc = "packages/adapter-grpc-python/src";
const stdio = "packages/adapter-stdio/src";
const http = "packages/adapter-http/src";
const ray = "packages/adapter-ray/src";
const lsp = "packages/adapter-lsp/src";
const mcp = "packages/adapter-mcp/src";

/** Those of adapters. */
export const ADAPTER_OPTION_TYPES: readonly OptionType[] = [
	taken(
		"python",
		"PythonOptions",
		`${python}/options.ts`,
		PYTHON_CHECKS,
		pythonDefaults(),
	),
	group("tools", "ToolSource", `${python}/options.ts`, SOURCE_CHECKS),
	group("preload", "PreloadOptions", `${python}/options.ts`, PRELOAD_CHECKS),
	group("watch", "WatchOptions", `${python}/options.ts`, WATCH_CHECKS),
	group(
		"handles",
		"HandleOptions",
		`${python}/options.ts`,
		HANDLE_CHECKS,
		plainly(PYTHON_DEFAULTS.handles),
	),
	group(
		"sharedMemory",
		"SharedMemoryOptions",
		`${python}/options.ts`,
		SHARED_MEMORY_CHECKS,
		plainly(PYTHON_DEFAULTS.sharedMemory),
	),
	taken(
		"pythonEnvironment",
		"PythonEnvironmentOptions",
		`${python}/environment/python-environment.ts`,
		ENVIRONMENT_CHECKS,
		ENVIRONMENT_DEFAULTS,
	),
	taken(
		"pythonGrpc",
		"PythonGrpcOptions",
		`${grpc}/options.ts`,
		PYTHON_GRPC_CHECKS,
		{
			transport: {
				value: PYTHON_GRPC_DEFAULTS.transport,
				reason: commentsOf(`${grpc}/options.ts`, "DEFAULTS")["transport"] ?? "",
			},
		},
	),
	taken(
		"rayPython",
		"RayPythonOptions",
		`${ray}/options.ts`,
		RAY_PYTHON_CHECKS,
		rayDefaults("address", "placement"),
	),
	group(
		"resources",
		"ResourceOptions",
		`${ray}/options.ts`,
		RESOURCE_CHECKS,
		plainly(RAY_PYTHON_DEFAULTS.resources),
	),
	group(
		"connection",
		"ConnectionOptions",
		`${ray}/options.ts`,
		CONNECTION_CHECKS,
		plainly(RAY_PYTHON_DEFAULTS.connection),
	),
	group("connection.tls", "TlsOptions", `${ray}/options.ts`, TLS_CHECKS),
	taken(
		"jsonRpc",
		"JsonRpcOptions",
		`${stdio}/json-rpc-options.ts`,
		JSON_RPC_CHECKS,
		plainly(JSON_RPC_DEFAULTS),
	),
	taken("lines", "LinesOptions", `${stdio}/lines-adapter.ts`, LINES_CHECKS),
	taken(
		"jsonRpc, lines and lsp",
		"StdioOptions",
		`${stdio}/stdio-options.ts`,
		STDIO_CHECKS,
		plainly(STDIO_DEFAULTS),
	),
	taken("lsp", "LspOptions", `${lsp}/options.ts`, LSP_CHECKS),
	taken(
		"http",
		"HttpOptions",
		`${http}/options.ts`,
		HTTP_CHECKS,
		plainly(HTTP_DEFAULTS),
	),
	taken("mcp", "McpOptions", `${mcp}/options.ts`, MCP_CHECKS),
	taken(
		"serveMcp",
		"ServeMcpOptions",
		`${mcp}/server/options.ts`,
		SERVE_CHECKS,
		plainly(SERVE_DEFAULTS),
	),
	group(
		"serveMcp.http",
		"McpHttpOptions",
		`${mcp}/server/options.ts`,
		MCP_HTTP_CHECKS,
	),
	taken(
		"programs of adapters",
		"ProgramOptions",
		`${core}/options/program.ts`,
		PROGRAM_CHECKS,
		plainly(PROGRAM_DEFAULTS),
	),
];

/** The reasons stand in the table as comments. */
function pythonDefaults(): Readonly<Record<string, Left>> {
	const reasons = commentsOf(`${python}/options.ts`, "DEFAULTS");
	const {
		streamCredit,
		sharedMemory: _shared,
		handles: _handles,
		...rest
	} = PYTHON_DEFAULTS;
	const { chunks, smallBytes } = streamCredit;
	return Object.fromEntries(
		Object.entries({
			...plainly(rest),
			streamCredit: {
				value: chunks,
				and: `and more of small ones, as long as all together have less than ${quantity("smallBytes", smallBytes)}`,
			},
			sharedMemory: { value: undefined },
			handles: { value: undefined },
		}).map(([option, left]) => [
			option,
			{ ...left, reason: reasons[option] ?? "" },
		]),
	);
}

function rayDefaults(
	...names: readonly ("address" | "placement")[]
): Readonly<Record<string, Left>> {
	const reasons = commentsOf(`${ray}/options.ts`, "DEFAULTS");
	return Object.fromEntries(
		names.map((name) => [
			name,
			{ value: RAY_PYTHON_DEFAULTS[name], reason: reasons[name] ?? "" },
		]),
	);
}
