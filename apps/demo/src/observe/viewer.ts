import { join } from "node:path";
import type { GoProgram } from "../../../../scripts/go-program-on-demand.ts";

/**
 * What shows the demo's telemetry. Of the programs that take OTLP and show it, this
 * one is a single executable from a public registry with its page inside, shows
 * traces, metrics and logs, and keeps them in memory: there is nothing to set up
 * and nothing to clear away. Its go.mod asks for Go 1.26, its database for a C compiler.
 */
export const VIEWER: GoProgram = {
	module: "github.com/CtrlSpice/otel-desktop-viewer",
	pinnedBy: join(import.meta.dirname, "../../viewer"),
	language: "go_and_c",
};

/** Where it listens, on loopback only. */
export interface ViewerPorts {
	/** Takes OTLP over HTTP. */
	readonly http: number;
	/** Takes OTLP over gRPC, which the demo does not speak; it cannot be left out. */
	readonly grpc: number;
	/** Has the page, and answers questions at `/rpc`. */
	readonly page: number;
}

const HOST = "127.0.0.1";

/**
 * Port 0 would be taken, but it never says what it became. Without `--db` there is
 * no file.
 */
export function viewerFlags({ http, grpc, page }: ViewerPorts): string[] {
	return [
		...["--host", HOST],
		...["--http", `${http}`],
		...["--grpc", `${grpc}`],
		...["--browser-port", `${page}`],
		"--open-browser=false",
	];
}

/** The URLs of a viewer. */
export function viewerUrls({ http, page }: ViewerPorts): {
	readonly otlp: string;
	readonly page: string;
} {
	return { otlp: `http://${HOST}:${http}`, page: `http://${HOST}:${page}/` };
}
