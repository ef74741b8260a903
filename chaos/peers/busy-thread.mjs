import { once } from "node:events";
import { connect } from "node:net";

export default async function work() {
	const witness = connect(process.env.CHAOS_WITNESS);
	await once(witness, "connect");
	witness.write(`worker ${process.pid}\n`);
	await once(witness, "data");
	for (;;);
}
