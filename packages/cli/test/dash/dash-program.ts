// `snakepit dash`, of a page that a test has built. Arguments: the options as JSON, the directory of the page.
import { CommandFailed, EXIT_STATUS } from "../../src/command/failures.ts";
import { dash } from "../../src/dash/dash.ts";

try {
	await dash(JSON.parse(process.argv[2] ?? "{}"), process.argv[3]);
} catch (error) {
	if (!(error instanceof CommandFailed)) throw error;
	console.error(error.message);
	process.exitCode = EXIT_STATUS[error.failure];
}
