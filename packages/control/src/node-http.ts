import { createRequire } from "node:module";

/**
 * Node's HTTP, loaded as CommonJS: an import would also load Node's fetch and WebSocket, which takes 70 ms of processor
 * time on both sides.
 */
export const http: typeof import("node:http") = createRequire("/")("node:http");
