import { once } from "node:events";
import { connect } from "node:net";

export default async function work() {
	const exits = connect(process.env.CHAOS_EXIT_WATCHER);
	await once(exits, "connect");
	exits.write(`worker ${process.pid}\n`);
	await once(exits, "data");
	for (;;);
}
