import type * as protocol from "vscode-languageserver-protocol/node";

type Protocol = typeof protocol;

/** A request as the protocol's library describes it; a request without parameters has no `P`. */
type RequestOf<Described> = Described extends {
	readonly method: infer Method extends string;
	readonly type: infer Type;
}
	? Type extends protocol.ProtocolRequestType<
			infer Params,
			infer Result,
			infer _Partial,
			infer _Error,
			infer _Options
		>
		? { readonly method: Method; call(params: Params): Result }
		: Type extends protocol.ProtocolRequestType0<
					infer Result,
					infer _Partial,
					infer _Error,
					infer _Options
				>
			? { readonly method: Method; call(): Result }
			: never
	: never;

type Described = RequestOf<Protocol[keyof Protocol]>;

/**
 * The requests of the protocol, for `createPool<LspRequests, ProtocolConnection>`: what each command of `pool.execute`
 * takes and answers.
 */
export type LspRequests = {
	readonly [Request in Described as Request["method"]]: Request["call"];
};
