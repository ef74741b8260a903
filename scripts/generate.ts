import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toolPython } from "./python-environment.ts";
import { must, root } from "./run.ts";

// The oldest grpcio-tools with wheels for Python 3.10 to 3.14. Its code runs
// under protobuf 6.31.1 and newer, 7 included, and under grpcio 1.75.1 and newer.
const python = toolPython("grpcio-tools==1.75.1");
const proto = join(root, "proto/snakepit/bridge/v1");

function protoc(args: string[]) {
	must(python, ["-m", "grpc_tools.protoc", ...args]);
}

function emptied(path: string): string {
	const directory = join(root, path);
	rmSync(directory, { recursive: true, force: true });
	mkdirSync(directory, { recursive: true });
	return directory;
}

const pythonOut = join(root, "python/src");
const pythonPackage = emptied("python/src/snakepit_bridge/_gen");
writeFileSync(join(pythonPackage, "__init__.py"), "");
protoc([
	// A path of the Python package, so that generated modules import each other.
	`--proto_path=snakepit_bridge/_gen=${proto}`,
	`--python_out=${pythonOut}`,
	`--pyi_out=${pythonOut}`,
	`--grpc_python_out=${pythonOut}`,
	"snakepit_bridge/_gen/bridge.proto",
]);

const adapter = join(root, "packages/adapter-grpc-python");
const options = [
	"enumsAsLiterals=true",
	"env=node",
	"esModuleInterop=true",
	"importSuffix=.ts",
	"oneof=unions-value",
	"outputJsonMethods=false",
	"outputPartialMethods=false",
	"outputServices=grpc-js",
	"unrecognizedEnum=false",
];
protoc([
	`--proto_path=${proto}`,
	`--plugin=${join(adapter, "node_modules/.bin/protoc-gen-ts_proto")}`,
	`--ts_proto_out=${emptied("packages/adapter-grpc-python/src/gen")}`,
	`--ts_proto_opt=${options.join(",")}`,
	"bridge.proto",
]);

const core = join(root, "packages/core");
if (existsSync(join(core, "src/registry/schema.ts")))
	must("drizzle-kit", ["generate"], {
		cwd: core,
		env: { ...process.env, PATH: `node_modules/.bin:${process.env["PATH"]}` },
	});
