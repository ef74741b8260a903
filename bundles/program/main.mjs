// Without `await` at its top level, so that it can be made CommonJS.
import { answers, shown } from "./answers.mjs";

answers(process.env.TOOLS, process.env.LEDGER).then(
	(found) => console.log(shown(found)),
	(error) => {
		console.error(error);
		process.exitCode = 1;
	},
);
