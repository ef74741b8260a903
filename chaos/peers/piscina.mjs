// piscina: threads of this very process, for contrast.
import { peer } from "./peer.mjs";

const { default: Piscina } = await peer("piscina");

const pool = new Piscina({
	filename: new URL("./busy-thread.mjs", import.meta.url).href,
	minThreads: 2,
	maxThreads: 2,
});
for (let worker = 0; worker < 2; worker++) pool.run(worker);
