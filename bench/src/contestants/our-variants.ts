import {
	type PythonGrpcOptions,
	pythonGrpc,
} from "@snakepit/adapter-grpc-python";

/** One way to use the Python adapter: each is a row of ours in every case that asks for it. */
export interface OurVariant {
	readonly name: string;
	readonly options: Partial<PythonGrpcOptions>;
	/** Why the adapter cannot do it; `undefined` when it can. */
	readonly problem: string | undefined;
}

export const ourVariants: readonly OurVariant[] = [
	variant("gRPC", {}),
	variant("framed", { transport: "framed" }),
];

/** Ways to start: of interest where workers are started. */
export const startVariants: readonly OurVariant[] = [
	...ourVariants,
	variant("gRPC, preloaded", { preload: true }),
	variant("framed, preloaded", { transport: "framed", preload: true }),
];

/** The options are looser than their type: the adapter itself says whether it has them. */
function variant(
	name: string,
	options: Readonly<Record<string, unknown>>,
): OurVariant {
	try {
		pythonGrpc({ tools: "./tools.py", ...options });
		return { name, options, problem: undefined };
	} catch (error) {
		const { message } = error as Error;
		const [sentence] = message.split(". ");
		return { name, options: {}, problem: `not offered: ${sentence}` };
	}
}
