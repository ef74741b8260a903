// A stand-in for the demo, for tests: sends one export of each signal to the receiver of `--otlp`, then does what its first argument says.
import { appendFileSync } from "node:fs";

/** In case the test that started it is gone. */
const LONGEST_LIFE_MS = 600_000;

const [then, flag, endpoint] = process.argv.slice(2);
const pids = process.env["STAND_IN_PIDS"];
if (pids !== undefined) appendFileSync(pids, `demo ${process.pid}\n`);
if (flag !== "--otlp") throw new Error(`Not --otlp but ${flag}`);

for (const signal of ["traces", "metrics", "logs"]) {
	const response = await fetch(`${endpoint}/v1/${signal}`, {
		method: "POST",
		body: new Uint8Array(),
	});
	if (!response.ok) throw new Error(`${signal}: ${response.status}`);
}

switch (then) {
	case "ends":
		console.log("the demo has run");
		break;
	case "fails":
		process.exitCode = 3;
		break;
	case "waits":
		setTimeout(() => process.exit(9), LONGEST_LIFE_MS);
		process.on("SIGTERM", () => {
			console.log("the demo got SIGTERM");
			process.exit(1);
		});
		console.log("the demo runs");
		break;
	case "ignores signals":
		setTimeout(() => process.exit(9), LONGEST_LIFE_MS);
		for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {});
		console.log("the demo runs");
		break;
	default:
		throw new Error(`Unknown behaviour "${then}"`);
}
