import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
	adapterContract,
	type ContractCommands,
	startForReal,
} from "@snakepit/core/testing";
import { afterAll, beforeAll, describe, test } from "vitest";
import { isThorough } from "../../../scripts/test-effort.ts";
import { type HttpOptions, http } from "../src/index.ts";
import { COMMANDS } from "./contract-commands.ts";

const go = spawnSync("go", ["version"], { stdio: "ignore" }).status === 0;

// To compile Go's server takes half a minute.
describe.runIf(go && isThorough())(
	`http() with a server in Go keeps the adapter contract${go ? "" : " (skipped: no Go)"}`,
	() => {
		const place = mkdtempSync(join(tmpdir(), "snakepit-http-"));
		const program = join(place, "tools");
		beforeAll(() => {
			const { status, stderr } = spawnSync("go", ["build", "-o", program], {
				cwd: join(import.meta.dirname, "programs/tools"),
				encoding: "utf8",
				// Nothing is asked of the network.
				env: { ...process.env, GOPROXY: "off", GOTOOLCHAIN: "local" },
			});
			if (status !== 0) throw new Error(stderr);
		}, 300_000);
		afterAll(() => rmSync(place, { recursive: true, force: true }));
		const contractOf = (
			options: HttpOptions,
			endless: ContractCommands["endless"] = COMMANDS.endless,
		) =>
			adapterContract({
				adapter: () => http(options),
				start: (adapter) => startForReal(adapter, { callsPerWorker: 4 }),
				callsPerWorker: 4,
				// A call may connect first: it knows that nothing was sent.
				begins: "noted",
				commands: {
					...COMMANDS,
					endless,
					breakConversation: { command: "POST /garble", args: {} },
				},
			});
		describe("on a socket", () => {
			const contract = contractOf({ command: [program, "{socket}"] });
			test.each(contract)("$title", ({ run }) => run());
		});
		describe.runIf(process.platform === "linux")("on a port", () => {
			const contract = contractOf(
				{ command: [program, "127.0.0.1:{port}"], listen: "tcp" },
				// TCP's buffers grow to 6 MiB. Source: tcp(7), tcp_rmem and tcp_wmem.
				COMMANDS.endless && { ...COMMANDS.endless, window: 200 },
			);
			test.each(contract)("$title", ({ run }) => run());
		});
	},
);
