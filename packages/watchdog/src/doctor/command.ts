#!/usr/bin/env node
// snakepit-doctor: reports which layers protect workers on this machine.
import { doctor, formatDoctorReport } from "@snakepit/core/inspect";
import type { Protection } from "@snakepit/core/protection";
import { guard } from "../guard/guard.ts";
import { watchdog } from "../watchdog/watchdog.ts";
import { parseDoctorArguments, USAGE } from "./doctor-arguments.ts";
import { installedTelemetry } from "./installed-telemetry.ts";

const protections: readonly Protection[] = [watchdog(), guard()];
const order = parseDoctorArguments(process.argv.slice(2));
switch (order.kind) {
	case "help":
		process.stdout.write(USAGE);
		break;
	case "misspelt":
		process.stderr.write(`${order.message}\n\n${USAGE}`);
		process.exitCode = 2;
		break;
	case "report": {
		const { dataDir, form } = order;
		try {
			const layers = await doctor({
				...(dataDir === undefined ? {} : { dataDir }),
				protections,
				instruments: await installedTelemetry(process.cwd()),
			});
			process.stdout.write(
				form === "json"
					? `${JSON.stringify(layers, undefined, 2)}\n`
					: formatDoctorReport(layers),
			);
			// A pool starts without a protection or telemetry, but not without any other layer.
			const optional = ["telemetry", ...protections.map(({ name }) => name)];
			const isBroken = layers.some(
				({ layer, status }) =>
					status === "unavailable" && !optional.includes(layer),
			);
			if (isBroken) process.exitCode = 1;
		} catch (error) {
			process.stderr.write(`${(error as Error).message}\n`);
			process.exitCode = 2;
		}
	}
}
