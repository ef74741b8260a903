import { loadSqlite } from "../../src/registry/sqlite.ts";

await loadSqlite();
