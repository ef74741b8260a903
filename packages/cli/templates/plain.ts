import { python } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";
import type { Tools } from "./tools.ts";

const pool = await createPool<Tools>({
	adapter: python({ tools: new URL("./tools.py", import.meta.url) }),
	size: 2,
});

console.log(await pool.execute("greet", { name: "Ada", times: 2 }));
for await (const square of pool.stream("squares", { below: 4 }))
	console.log(square);

await pool.close();
