import {
	cpSync,
	mkdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { toolPython } from "./python-environment.ts";
import { must, root, takeNoArguments } from "./run.ts";

takeNoArguments(
	"generate",
	"writes protobuf code, types of tools, migrations, reference pages, reports of what packages export, the page of benchmarks, the dashboard and alerts for scraped metrics, and the version in Python and in the adapter",
);

// The oldest grpcio-tools with wheels for Python 3.10 to 3.14. Its messages
// load under protobuf 6.31.1 and newer, 7 included.
const python = toolPython("grpcio-tools==1.75.1");
const proto = "snakepit/bridge/v1/bridge.proto";
const adapter = join(root, "packages/adapter-grpc-python");
const core = join(root, "packages/core");

const out = emptied("node_modules/.cache/protoc");
must(python, [
	...["-m", "grpc_tools.protoc", "--proto_path=proto", proto],
	`--python_out=${out}`,
	`--pyi_out=${out}`,
	`--plugin=${join(adapter, "node_modules/.bin/protoc-gen-ts_proto")}`,
	`--ts_proto_out=${out}`,
	`--ts_proto_opt=${[
		"enumsAsLiterals=true",
		"esModuleInterop=true",
		"importSuffix=.ts",
		"oneof=unions-value",
		"outputJsonMethods=false",
		"outputPartialMethods=false",
		"outputServices=none",
		"unrecognizedEnum=false",
	].join(",")}`,
]);

const bridge = emptied("python/src/snakepit_bridge/bridge/grpc_transport/_gen");
writeFileSync(join(bridge, "__init__.py"), "");
const generated = join(out, "snakepit/bridge/v1");
for (const name of ["bridge_pb2.py", "bridge_pb2.pyi"])
	cpSync(join(generated, name), join(bridge, name));

const gen = emptied("packages/adapter-grpc-python/src/gen");
cpSync(join(generated, "bridge.ts"), join(gen, "bridge.ts"));

// The packages of both languages are released together, under one version.
const { version } = JSON.parse(
	readFileSync(join(core, "package.json"), "utf8"),
) as { version: string };
const versionFile = join(root, "python/src/snakepit_bridge/_version.py");
writeFileSync(
	versionFile,
	readFileSync(versionFile, "utf8").replace(
		/^__version__ = ".*"$/m,
		`__version__ = "${version}"`,
	),
);

// For the ledger, for what is exported, for those who speak to a server, and for a bundle with files of several packages.
for (const folder of [
	...["adapter-lsp/src", "adapter-mcp/src", "adapter-python/src", "cli/src"],
	...["core/src/os", "telemetry/src", "watchdog/src"],
])
	writeFileSync(
		join(root, "packages", folder, "gen/version.ts"),
		`/** The version of this package. */\nexport const VERSION: string = "${version}";\n`,
	);

must(join(core, "node_modules/.bin/drizzle-kit"), ["generate"], { cwd: core });

for (const script of [
	"scripts/inline-migrations.ts",
	// Writes the list of event types, without which the next one does not compile.
	"scripts/reference.ts",
	"scripts/api-report.ts",
	"scripts/telemetry.ts",
	"scripts/tool-types.ts",
	"bench/src/write-docs.ts",
])
	must(process.execPath, ["--conditions=snakepit-source", script]);

function emptied(path: string): string {
	const directory = join(root, path);
	rmSync(directory, { recursive: true, force: true });
	mkdirSync(directory, { recursive: true });
	return directory;
}
