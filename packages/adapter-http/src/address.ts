/** Where a worker listens. */
export type Address =
	| { readonly kind: "unix"; readonly socketPath: string }
	| {
			readonly kind: "tcp";
			readonly host: "127.0.0.1" | "::1";
			readonly port: number;
	  };

/** The host name for HTTP clients. A server behind a Unix socket has no name, so it is `localhost`. */
export function originOf(address: Address): string {
	if (address.kind === "unix") return "http://localhost";
	const { host, port } = address;
	return `http://${host === "::1" ? "[::1]" : host}:${port}`;
}

/** For people. */
export function shownAddress(address: Address): string {
	return address.kind === "unix"
		? `unix:${address.socketPath}`
		: originOf(address);
}

/** For `node:http` and `node:net`. */
export function connectTo(
	address: Address,
):
	| { readonly socketPath: string }
	| { readonly host: string; readonly port: number } {
	if (address.kind === "unix") return { socketPath: address.socketPath };
	const { host, port } = address;
	return { host, port };
}
