import { join } from "node:path";
import { python, pythonEnvironment } from "@snakepit/adapter-python";
import { createPool, InputError } from "@snakepit/core";
import type { Order, Tools } from "./gen/tools.ts";

/** Has pydantic and the bridge, as the one that is made here has. */
const [interpreter] = process.argv.slice(2);
const requirements = [
	join(import.meta.dirname, "../../../python"),
	"pydantic>=2.11",
];
await using pool = await createPool<Tools>({
	adapter: python({
		tools: join(import.meta.dirname, "../tools.py"),
		python: interpreter,
		environment: interpreter ? undefined : pythonEnvironment({ requirements }),
	}),
	size: 1,
});

for await (const { name, price } of pool.stream("products", { size: "small" }))
	console.log(`${name} ${price}`);

const order: Order = {
	id: "0d9e2b0a-6f0e-4f6c-8a57-0f3a5b1c2d3e",
	lines: [{ product: "cup", quantity: 2 }, { product: "pot" }],
	payment: { kind: "invoice", payableWithin: "P30D" },
};
const { net, gross, delivery } = await pool.execute("quote", { order });
console.log(`${net} net, ${gross} gross, in ${delivery}`);

try {
	const lines = [{ product: "cup", quantity: 0 }];
	await pool.execute("quote", { order: { ...order, lines } });
} catch (error) {
	if (!(error instanceof InputError)) throw error;
	console.log(`${error.code} ${error.path}`);
	console.log(error.message);
}
