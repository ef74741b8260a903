import type { Protection } from "@snakepit/core/protection";
import type { Command } from "commander";
import { DATA_DIR, JSON_FLAG } from "../command/flags.ts";
import { write } from "../command/output.ts";
import { installedPython, installedTelemetry } from "../command/packages.ts";

interface DoctorFlags {
	readonly dataDir?: string;
	readonly json?: boolean;
}

/** Adds `snakepit doctor`. */
export function addDoctor(program: Command): void {
	program
		.command("doctor")
		.description(
			"report which layers of protection work on this machine, and why others do not",
		)
		.option(...DATA_DIR)
		.option(...JSON_FLAG)
		.addHelpText(
			"after",
			`
Changes nothing. Exit status 1 if a layer that every pool needs does not work.

If @snakepit/adapter-python is installed in this directory, it also reports which Python the workers use, and whether
each start compiles the bridge or tools.py again. If @snakepit/telemetry is installed, it reports whether an
OpenTelemetry SDK receives the data, and tries the OTLP endpoints that OTEL_* name with an empty request, for at most
5 s; without such variables, it exports one span, "doctor". For that, load the SDK as your program does:
NODE_OPTIONS="--import ./instrumentation.js" snakepit doctor`,
		)
		.action(examine);
}

async function examine({ dataDir, json }: DoctorFlags): Promise<void> {
	const { doctor, formatDoctorReport } = await import("@snakepit/core/inspect");
	const { watchdog } = await import("@snakepit/watchdog");
	const protections: readonly Protection[] = [watchdog()];
	const { anyWorkingDirectory } = await import("@snakepit/core/adapter");
	const here = anyWorkingDirectory();
	const adapters = await installedPython(here);
	const layers = await doctor({
		dataDir,
		adapters,
		protections,
		instruments: await installedTelemetry(here),
	});
	write(
		json ? JSON.stringify(layers, undefined, 2) : formatDoctorReport(layers),
	);
	// A pool can start without a guard, another protection, telemetry or Python. It cannot start without the other layers.
	const optional = [
		...["guard", "telemetry"],
		...[...protections, ...adapters].map(({ name }) => name),
	];
	if (
		layers.some(
			({ layer, status }) =>
				status === "unavailable" && !optional.includes(layer),
		)
	)
		process.exitCode = 1;
}
