// No bundle: a program in CommonJS, which Node lets require ES modules.
const { answers, shown } = require("./answers.mjs");

answers(process.env.TOOLS, process.env.LEDGER).then((found) =>
	console.log(shown(found)),
);
