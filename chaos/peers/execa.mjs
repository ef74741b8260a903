// execa with its clean-up, which is its default: two workers.
import { peer } from "./peer.mjs";

const { execa } = await peer("execa");

const busy = new URL("./busy.py", import.meta.url).pathname;
for (let worker = 0; worker < 2; worker++)
	execa(process.env.CHAOS_PYTHON, [busy], { cleanup: true });
