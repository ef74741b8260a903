import type { SnakepitEvent } from "@snakepit/core";
import { expect, onTestFinished, test, vi } from "vitest";
import {
	DemoTelemetry,
	type Ending,
	readDiagnosis,
	type Sdk,
} from "../../src/otlp/demo-telemetry.ts";
import { drawEnding } from "../../src/otlp/draw-ending.ts";
import { event } from "../events.ts";
import { text } from "../text.ts";

const URL = "http://127.0.0.1:4318";

/** An SDK that does nothing but end as it is told. */
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

function opened(sdk: Sdk): DemoTelemetry {
	const telemetry = new DemoTelemetry(URL, sdk, {});
	onTestFinished(() => telemetry.signals.raise());
	return telemetry;
}

const logged = (logger: string, level: "info" | "error"): SnakepitEvent =>
	event({
		type: "worker.logged",
		workerId: "digits-1",
		incarnation: "r-1",
		record: { level, logger, message: "Failed to export\nand more" },
	} as Parameters<typeof event>[0]);

const said = (ending: Ending): string => text(drawEnding(ending, URL));

test("what workers log of their exporters is told once, at the end", async () => {
	const telemetry = opened(new SilentSdk(async () => {}));
	expect(telemetry.takes(logged("digits", "error"))).toBe(false);
	expect(telemetry.takes(logged("opentelemetry.sdk", "info"))).toBe(true);
	expect(await telemetry.end()).toEqual({ kind: "sent" });
	expect(telemetry.takes(logged("opentelemetry.sdk", "error"))).toBe(true);
	const ending = await telemetry.end();
	expect(said(ending)).toBe(
		`telemetry    had trouble  to ${URL}: digits-1: Failed to export`,
	);
});

test("an SDK that cannot send does not fail the demo", async () => {
	const sdk = new SilentSdk(async () => {
		sdk.complain(JSON.stringify({ message: "connect ECONNREFUSED" }));
		throw new Error("later");
	});
	expect(await opened(sdk).end()).toEqual({
		kind: "not_all_sent",
		problem: "connect ECONNREFUSED",
	});
});

test("an SDK that does not end is waited for five seconds, and hardly when it has failed already", async () => {
	vi.useFakeTimers();
	onTestFinished(() => void vi.useRealTimers());
	const sdk = new SilentSdk(() => new Promise(() => {}));
	const telemetry = opened(sdk);
	const first = telemetry.end();
	await vi.advanceTimersByTimeAsync(5_000);
	expect(said(await first)).toMatch(/: no answer for 5\.0 s$/);
	sdk.complain("timed out");
	const second = telemetry.end();
	await vi.advanceTimersByTimeAsync(500);
	expect(said(await second)).toMatch(/had trouble .*: timed out$/);
});

test("a diagnosis that is no JSON is read as it is", () => {
	expect(readDiagnosis("no")).toBe("no");
	expect(readDiagnosis('{"code":1}')).toBe('{"code":1}');
});
