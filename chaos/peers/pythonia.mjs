// pythonia: it has one Python process.
process.env.PYTHON_BIN = process.env.CHAOS_PYTHON;
const { python } = await import("pythonia");

const busy = new URL("./busy.py", import.meta.url).pathname;
const module = await python(busy);
await module.hold_and_work$();
