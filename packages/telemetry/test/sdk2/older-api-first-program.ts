// A dependency with an older API has registered a logger with it, and then the SDK wants to register with the API of this
// package. Prints as one line of JSON whether it can, and what the package says.
import { createRequire } from "node:module";
import { DiagConsoleLogger, DiagLogLevel, diag } from "@opentelemetry/api";
import type { EventOf, SnakepitEvent } from "@snakepit/core";
import { doctor } from "@snakepit/core/inspect";
import { scripts, virtualPool } from "@snakepit/core/testing";
import { telemetry } from "../../src/index.ts";
import { MemorySdk } from "../support/memory-sdk.ts";
import type { OnOlderApiFirst } from "./program.ts";

diag.setLogger(new DiagConsoleLogger(), DiagLogLevel.NONE);
const { trace } = createRequire(new URL("../../src/index.ts", import.meta.url))(
	"@opentelemetry/api",
) as typeof import("@opentelemetry/api");
const isRegistered = trace.setGlobalTracerProvider(new MemorySdk().tracers);

const instrument = telemetry();
const misconfigured: EventOf<"telemetry.misconfigured">[] = [];
const { pool, close } = await virtualPool(
	{ commands: scripts },
	{
		instruments: [instrument],
		onEvent: (event: SnakepitEvent) => {
			if (event.type === "telemetry.misconfigured") misconfigured.push(event);
		},
	},
);
await pool.execute("echo", "x");
await close();
const layers = await doctor({ instruments: [instrument] });
const answer: OnOlderApiFirst = {
	isRegistered,
	misconfigured,
	doctor: layers.find(({ layer }) => layer === "telemetry"),
};
process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0));
