import { createServer, request } from "node:http";
import type { SnakepitEvent } from "@snakepit/core";
import { expect, onTestFinished, test, vi } from "vitest";
import { type Line, paintLine, unpainted } from "../src/line.ts";
import { DemoTelemetry, ExportTally, type Sdk } from "../src/telemetry.ts";
import { event } from "./events.ts";
import { listen } from "./listen.ts";

const URL = "http://127.0.0.1:4318";

/** An SDK that only shuts down, in the given way. */
class SilentSdk implements Sdk {
	complain: (what: string) => void = () => {};
	readonly NodeSDK: Sdk["NodeSDK"];
	readonly diag: Sdk["diag"] = {
		setLogger: ({ error }) => {
			this.complain = error;
			return true;
		},
	};

	constructor(shutdown: () => Promise<void>) {
		this.NodeSDK = class {
			start() {}
			shutdown = shutdown;
		};
	}
}

const opened = (sdk: Sdk) => new DemoTelemetry(URL, sdk, {});

const logged = (logger: string, level: "info" | "error"): SnakepitEvent =>
	event({
		type: "worker.logged",
		workerId: "digits-1",
		incarnation: "r-1",
		record: { level, logger, message: "Failed to export\nand more" },
	} as Parameters<typeof event>[0]);

const text = (line: Line): string => paintLine(line, unpainted);

test("export errors that workers log are reported once, at the end", async () => {
	const telemetry = opened(new SilentSdk(async () => {}));
	expect(telemetry.takes(logged("digits", "error"))).toBe(false);
	expect(telemetry.takes(logged("opentelemetry.sdk", "info"))).toBe(true);
	expect(text(await telemetry.end())).toBe(`telemetry    sent  to ${URL}`);
	expect(telemetry.takes(logged("opentelemetry.sdk", "error"))).toBe(true);
	expect(text(await telemetry.end())).toBe(
		`telemetry    had trouble  to ${URL}: digits-1: Failed to export`,
	);
});

test.each([
	[JSON.stringify({ message: "connect ECONNREFUSED" }), "connect ECONNREFUSED"],
	['{"code":1}', '{"code":1}'],
	["no JSON", "no JSON"],
])(
	"an SDK that complains %s is reported, and does not fail the demo",
	async (what, problem) => {
		const sdk = new SilentSdk(async () => {
			sdk.complain(what);
			throw new Error("later");
		});
		expect(text(await opened(sdk).end())).toBe(
			`telemetry    had trouble  to ${URL}: ${problem}`,
		);
	},
);

test("the demo waits five seconds for an SDK that does not shut down, and half a second for one that has failed", async () => {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never);
	onTestFinished(() => exit.mockRestore());
	const sdk = new SilentSdk(() => new Promise(() => {}));
	const telemetry = opened(sdk);
	const first = telemetry.end();
	await vi.advanceTimersByTimeAsync(5_000);
	expect(text(await first)).toMatch(/: no answer for 5\.0 s$/);
	// The SDK would keep the program alive.
	await vi.runAllTimersAsync();
	expect(exit).toHaveBeenCalledOnce();
	sdk.complain("timed out");
	const second = telemetry.end();
	await vi.advanceTimersByTimeAsync(500);
	expect(text(await second)).toMatch(/had trouble .*: timed out$/);
	await vi.runAllTimersAsync();
});

const SIGNALS = ["traces", "metrics", "logs"];

/** Sends an empty export, and reads the answer as exporters do. */
async function send(url: string): Promise<void> {
	await new Promise<void>((resolve) => {
		const sending = request(
			url,
			{ method: "POST", agent: false },
			(response) => {
				response.resume().once("end", resolve);
			},
		);
		sending.once("error", () => resolve());
		sending.end();
	});
}

test("the tally says which signals arrived, in part, or were refused, and why", async () => {
	const statuses: Record<string, number> = { "/elsewhere": 500 };
	const server = createServer((incoming, response) => {
		incoming.resume();
		response.writeHead(statuses[incoming.url ?? ""] ?? 200).end("{}");
	});
	const url = await listen(server);
	const tally = () => {
		const made = new ExportTally(`${url}/otlp`);
		onTestFinished(() => made[Symbol.dispose]());
		return made;
	};
	const sendAll = async () => {
		for (const name of SIGNALS) await send(`${url}/otlp/v1/${name}`);
	};

	const part = tally();
	await sendAll();
	await send(`${url}/elsewhere`);
	expect(part.problem).toBeUndefined();
	statuses["/otlp/v1/traces"] = 413;
	await sendAll();
	expect(part.problem).toBe(
		"metrics and logs arrived, traces arrived in part: 413 Payload Too Large",
	);

	const refused = tally();
	statuses["/otlp/v1/logs"] = 404;
	await sendAll();
	expect(refused.problem).toBe(
		"metrics arrived, traces were refused, logs were refused: 413 Payload Too Large; 404 Not Found",
	);

	const gone = tally();
	server.closeAllConnections();
	await new Promise((resolve) => server.close(resolve));
	await send(`${url}/otlp/v1/traces`);
	expect(gone.problem).toMatch(/^traces were refused: connect ECONNREFUSED/);
});
