// A stand-in for the demo, for tests: tells the receiver of `--otlp` one export of each signal, and then does what its first argument says.
import { appendFileSync } from "node:fs";

/** Should the test that started it be gone. */
const LONGEST_LIFE_MS = 60_000;

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
			console.log("the demo heard SIGTERM");
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
		throw new Error(`It does not know how to do "${then}"`);
}
