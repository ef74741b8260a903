/** A host with a pool of one server, which hovers in a document; prints a line when it has. */
import { createPool } from "@snakepit/core";
import { MARK } from "../../../../scripts/marked-host.ts";
import { lsp } from "../../src/index.ts";
import { SERVERS } from "../servers.ts";

const [dataDir] = process.argv.slice(2);
const adapter = lsp({ ...SERVERS.typescript, inheritEnv: [MARK] });
const pool = await createPool({ dataDir, adapter, size: 1 });
const uri = "file:///a.ts";
const text = "const answer: number = 42;\n";
adapter.documents.open({ uri, languageId: "typescript", version: 1, text });
await pool.execute("textDocument/hover", {
	textDocument: { uri },
	position: { line: 0, character: 8 },
});
console.log("hovered");
setInterval(() => {}, 2 ** 30);
