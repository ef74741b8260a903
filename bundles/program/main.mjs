// Without `await` at its top level, so that it can be made CommonJS.
import { answers, asJson } from "./answers.mjs";

answers(process.env.TOOLS, process.env.LEDGER).then(
	(results) => console.log(asJson(results)),
	(error) => {
		console.error(error);
		process.exitCode = 1;
	},
);
