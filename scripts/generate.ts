import {
	cpSync,
	mkdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { takeNoArguments } from "./no-arguments.ts";
import { toolPython } from "./python-environment.ts";
import { must, root } from "./run.ts";

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

const bridge = emptied("python/src/snakepit_bridge/_gen");
writeFileSync(join(bridge, "__init__.py"), "");
for (const name of ["bridge_pb2.py", "bridge_pb2.pyi"])
	cpSync(join(out, "snakepit/bridge/v1", name), join(bridge, name));

const gen = emptied("packages/adapter-grpc-python/src/gen");
cpSync(join(out, "snakepit/bridge/v1/bridge.ts"), join(gen, "bridge.ts"));

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

// By it a bundle knows which package has the files that belong to it.
writeFileSync(
	join(root, "packages/watchdog/src/gen/version.ts"),
	`/** The version of this package. */\nexport const VERSION: string = "${version}";\n`,
);

writeFileSync(
	join(gen, "version.ts"),
	`/** The version of this package, and of the bridge that belongs to it. */\nexport const VERSION: string = "${version}";\n`,
);

must(join(core, "node_modules/.bin/drizzle-kit"), ["generate"], { cwd: core });

for (const script of [
	"scripts/inline-migrations.ts",
	"scripts/api-report.ts",
	"scripts/reference.ts",
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
