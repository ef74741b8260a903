// No bundle: a program in CommonJS, which Node lets require ES modules.
const { answers, asJson } = require("./answers.mjs");

answers(process.env.TOOLS, process.env.LEDGER).then((results) =>
	console.log(asJson(results)),
);
