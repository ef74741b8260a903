import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { NAMESPACE, namespaceEnv } from "../../../../scripts/ray/namespace.ts";
import {
	hasCluster,
	needsCluster,
} from "../../../../scripts/ray/test-cluster.ts";
import { isThorough } from "../../../../scripts/test-effort.ts";
import { START_MS } from "./ray-pool.ts";

// It needs a cluster of its own, beside that which tests share: in a namespace of its own.
test.runIf(hasCluster && isThorough())(
	`a cluster that asks for a token serves who has it, over the user's own certificates, and others are told what is missing${needsCluster}`,
	{ timeout: START_MS },
	async () => {
		const [command = "", ...words] = NAMESPACE;
		const program = join(import.meta.dirname, "guarded-program.ts");
		const { stdout } = await promisify(execFile)(
			command,
			[...words, process.execPath, "--conditions=snakepit-source", program],
			{ env: { ...process.env, ...namespaceEnv() } },
		);
		expect(JSON.parse(stdout)).toEqual({
			without: {
				code: "CLUSTER_UNREACHABLE",
				message: expect.stringContaining(
					"no token was sent (RAY_AUTH_MODE is not set)",
				),
			},
			wrong: {
				code: "CLUSTER_UNREACHABLE",
				message: expect.stringContaining(
					"the token of RAY_AUTH_TOKEN is wrong",
				),
			},
			answered: "over TLS",
		});
	},
);
