// A program that is bundled, and loads both transports.
import { loadTransport } from "../../src/channel/load-transport.ts";

async function main(): Promise<void> {
	for (const transport of ["framed", "grpc"] as const)
		await loadTransport(transport).then(
			() => console.log(`${transport}: loaded`),
			({ code, message }) => console.log(`${transport}: ${code} ${message}`),
		);
}

void main();
