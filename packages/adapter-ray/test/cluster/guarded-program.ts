// Starts a cluster that asks for a token, and prints what a pool says without it, and answers with it over connections
// with the user's own certificates.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withPool } from "@snakepit/core";
import { Cluster } from "../../../../scripts/ray/cluster.ts";
import { clusterPython } from "../../../../scripts/ray/python.ts";
import { toolsFile } from "../../../adapter-python/test/support/pythons.ts";
import { rayPython } from "../../src/index.ts";

const AUTHORITY = `
import json, sys
sys.path.insert(0, sys.argv[1])
from support.certificate_authority import signed_identities
print(json.dumps(signed_identities("node")[0]._asdict()))
`;
const TOKEN = {
	RAY_AUTH_MODE: "token",
	RAY_AUTH_TOKEN: "5".repeat(64),
};

const python = clusterPython() ?? "";
// Every node sees it.
const directory = mkdtempSync(join(tmpdir(), "tls-"));
const pythonTests = join(import.meta.dirname, "../../../../python/tests");
const words = ["-c", AUTHORITY, pythonTests];
const made = JSON.parse(execFileSync(python, words, { encoding: "utf8" }));
const tls = { ca: "", certificate: "", key: "" };
for (const name of ["ca", "certificate", "key"] as const) {
	tls[name] = join(directory, name);
	writeFileSync(tls[name], made[name === "ca" ? "authority" : name]);
}
try {
	await using cluster = await Cluster.start({ python, nodes: 2, env: TOKEN });
	const answer = (): Promise<unknown> =>
		withPool(
			{
				adapter: rayPython({
					python,
					address: cluster.address,
					tools: toolsFile("bench.py"),
					placement: { node: "127.0.0.3" },
					connection: { tls },
				}),
				size: 1,
				start: { timeoutMs: 120_000 },
				dataDir: join(cluster.disk, "data"),
			},
			(pool) => pool.execute("echo", { value: "over TLS" }),
		);
	const failure = () =>
		answer().catch(({ code, message }) => ({ code, message }));
	const without = await failure();
	Object.assign(process.env, TOKEN, { RAY_AUTH_TOKEN: "6".repeat(64) });
	const wrong = await failure();
	Object.assign(process.env, TOKEN);
	console.log(JSON.stringify({ without, wrong, answered: await answer() }));
} finally {
	rmSync(directory, { recursive: true });
}
