// A program that is bundled, and loads both transports.
import { FRAMED, loadTransport } from "@snakepit/adapter-python/transport";
import { GRPC } from "../../src/python-grpc.ts";

async function main(): Promise<void> {
	for (const transport of [FRAMED, GRPC])
		await loadTransport({ maker: "pythonGrpc", transport }).then(
			() => console.log(`${transport.name}: loaded`),
			({ code, message }) =>
				console.log(`${transport.name}: ${code} ${message}`),
		);
}

void main();
