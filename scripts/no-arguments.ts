/**
 * Ends a script that is given any argument, before it has done anything: it takes
 * none, and a request for help is not one for a whole run.
 *
 * @param name as `package.json` has it.
 * @param does what it does, and what does a part of it.
 */
export function takeNoArguments(name: string, does: string): void {
	const args = process.argv.slice(2).filter((each) => each !== "--");
	if (args.length === 0) return;
	const help = `npx pnpm@12 ${name} takes no arguments. It ${does}.`;
	if (args.every((each) => each === "--help" || each === "-h")) {
		console.log(help);
		process.exit(0);
	}
	console.error(help);
	process.exit(2);
}
