import { ChannelCredentials } from "@grpc/grpc-js";

type Connector = ReturnType<ChannelCredentials["_createSecureConnector"]>;

/**
 * No credentials, and a socket that never keeps the program running.
 *
 * grpc-js references the socket as long as a call is active, and `Converse` is active for life. The pool itself keeps
 * the program alive while calls run. The connector is the only place where grpc-js gives access to the socket.
 */
export class UnreferencedCredentials extends ChannelCredentials {
	private readonly insecure = ChannelCredentials.createInsecure();

	override compose(): never {
		throw new TypeError("these credentials cannot be composed");
	}

	override _isSecure(): boolean {
		return false;
	}

	override _equals(other: ChannelCredentials): boolean {
		return other === this;
	}

	override _createSecureConnector(
		...args: Parameters<ChannelCredentials["_createSecureConnector"]>
	): Connector {
		const connector = this.insecure._createSecureConnector(...args);
		return {
			...connector,
			connect: (socket) => {
				socket.unref();
				socket.ref = () => socket;
				return connector.connect(socket);
			},
		};
	}
}
