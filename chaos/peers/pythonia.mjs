// pythonia: it has one Python process.
import { peer } from "./peer.mjs";

process.env.PYTHON_BIN = process.env.CHAOS_PYTHON;
const { python } = await peer("pythonia");

const busy = new URL("./busy.py", import.meta.url).pathname;
const module = await python(busy);
await module.hold_and_work();
