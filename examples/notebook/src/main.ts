import { fileURLToPath } from "node:url";
import { type Handle, importModule, python } from "@snakepit/adapter-python";
import { createPool } from "@snakepit/core";
import type { Tools } from "./gen/model.ts";
import type { Sqlite3 } from "./sqlite3.ts";

await using pool = await createPool<Tools>({
	adapter: python({
		tools: new URL("./model.py", import.meta.url),
		handles: { imports: ["sqlite3"], limit: 20 },
		// The Python that this repository develops with; a project leaves this out.
		python: fileURLToPath(
			new URL("../../../python/.venv/bin/python", import.meta.url),
		),
	}),
	size: 1,
});

// All cells share the objects of one session, in one worker.
using session = pool.session({ affinity: "strict" });

// Cell 1: a library, as it is.
const sqlite3 = await importModule<Sqlite3>(session, "sqlite3");
const database = await sqlite3.call("connect", [":memory:"]);
await database.call("execute", ["create table load (hour real, load real)"]);

// Cell 2: values go in, and stay in the worker.
const measured = [8, 9, 10, 11].map((hour) => [hour, 3 * hour + 1] as const);
await database.call("executemany", [
	"insert into load values (?, ?)",
	measured,
]);
console.log("changes:", await database.get("total_changes"));

// Cell 3: a result is read as it comes, and released at the end of the scope.
{
	await using rows = await query("select * from load where hour > ?", [9]);
	for await (const [hour, load] of rows.iterate()) console.log(hour, load);
}

// Cell 4: tools take handles of a library, and return their own.
const line = await session.execute("fit", {
	rows: await query("select hour, load from load"),
});
console.log("a", line.type);
console.log("at noon:", await session.execute("predict", { line, at: [12] }));
console.log("slope:", (await line.get("slope")).toFixed(2));
console.log("at 13:", await line.call("at", [13]));

await database.call("close");

function query(
	sql: string,
	parameters: readonly unknown[] = [],
): Promise<Handle> {
	return database.call("execute", [sql, parameters]);
}
