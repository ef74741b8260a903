import { createRequire } from "node:module";

/**
 * Node's HTTP, loaded as CommonJS: an import also loads Node's fetch and WebSocket, which takes 70 ms of processor time
 * in every program that attaches or is attached to.
 */
export const http: typeof import("node:http") = createRequire("/")("node:http");
