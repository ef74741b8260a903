import { SnakepitError } from "@snakepit/core";
import type { Installation } from "../../../../scripts/go-program-on-demand.ts";
import { type Line, plain } from "../line.ts";
import { type DemoEnd, type DemoSetting, runDemo } from "./demo-run.ts";
import { drawGuide } from "./guide.ts";
import {
	type Lost,
	openViewer,
	type Viewer,
	type ViewerSetting,
} from "./open-viewer.ts";
import type { StopRequest } from "./stop-request.ts";
import type { ViewerStatistics } from "./viewer-tools.ts";

export interface ObserveSetting {
	/** Finds what is needed, or installs it; its problem is said as it is. */
	readonly viewer: (signal: AbortSignal) => Promise<Installation>;
	readonly starting: Pick<
		ViewerSetting,
		"startWithinMs" | "endWithinMs" | "ports"
	>;
	/** The demo, which gets `--otlp URL` as well. */
	readonly demo: DemoSetting;
	readonly show: (line: Line) => void;
}

/** It reads its own memory. */
const ANSWER_WITHIN_MS = 10_000;

/** The exit code, or the signal that came before there was anything to see. */
export type Outcome = number | NodeJS.Signals;

/**
 * Starts a viewer, runs the demo against it, says where a person sees what it told,
 * and stays until it is asked to stop. Nothing of it is left when this resolves.
 */
export async function observe(
	setting: ObserveSetting,
	stop: StopRequest,
): Promise<Outcome> {
	const say = (text: string) => setting.show(plain(text));
	const found = await setting.viewer(stop.signal);
	if (stop.came !== undefined) return stop.came;
	if (found.kind === "failed") {
		say(found.problem);
		return 1;
	}
	try {
		await using viewer = await openViewer({
			...setting.starting,
			executable: found.executable,
			signal: stop.signal,
		});
		return await withViewer(viewer, setting, stop);
	} catch (error) {
		if (stop.came !== undefined) return stop.came;
		if (!(error instanceof SnakepitError)) throw error;
		say(`The viewer cannot be used. ${error.message}`);
		return 1;
	}
}

async function withViewer(
	viewer: Viewer,
	{ demo, show }: ObserveSetting,
	stop: StopRequest,
): Promise<Outcome> {
	const say = (text: string) => show(plain(text));
	const end = await runDemo(
		{ ...demo, command: [...demo.command, "--otlp", viewer.otlp] },
		stop,
	);
	if (stop.came !== undefined) return stop.came;
	const failure = whyFailed(end);
	if (failure !== undefined) say(failure);

	// First what is known already: who is lost answers with an error.
	const held = await Promise.race([
		viewer.lost,
		askForStatistics(viewer, stop),
	]);
	if ("how" in held) return tellLost(held, say);
	drawGuide(viewer.page, held).forEach(show);

	const ending = await Promise.race([viewer.lost, stop.comes]);
	if (ending !== undefined) return tellLost(ending, say);
	return failure === undefined ? 0 : 1;
}

function tellLost({ how }: Lost, say: (text: string) => void): 1 {
	say(`The viewer ${how}`);
	return 1;
}

function askForStatistics(
	{ pool }: Viewer,
	{ signal }: StopRequest,
): Promise<ViewerStatistics> {
	return pool.execute("getStats", [], { signal, timeoutMs: ANSWER_WITHIN_MS });
}

function whyFailed({ code, signal }: DemoEnd): string | undefined {
	if (code === 0) return undefined;
	return `The demo ${signal === null ? `failed with exit code ${code}` : `was ended by ${signal}`}.`;
}
