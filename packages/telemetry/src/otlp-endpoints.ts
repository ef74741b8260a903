import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect } from "node:net";
import { context, ROOT_CONTEXT } from "@opentelemetry/api";
import { SUPPRESS_TRACING } from "./trace/late-span.ts";

type Env = Readonly<Record<string, string | undefined>>;

export type Signal = "traces" | "metrics" | "logs";

/** Where the variables say that one signal is sent as OTLP. */
export interface OtlpEndpoint {
	readonly signal: Signal;
	readonly url: string;
	readonly protocol: "grpc" | "http/protobuf" | "http/json";
	readonly headers: Readonly<Record<string, string>>;
	/** The file with the certificate that the receiver's must be signed by. */
	readonly certificate: string | undefined;
}

/**
 * The endpoints that `OTEL_EXPORTER_OTLP_*` name; none for a signal without such a variable, whose exporter may be
 * configured in code.
 *
 * Source: OpenTelemetry, specification of the OTLP exporter.
 */
export function otlpEndpoints(
	signals: readonly Signal[],
	env: Env = process.env,
): readonly OtlpEndpoint[] {
	if (/^true$/i.test(variable(env, "OTEL_SDK_DISABLED") ?? "")) return [];
	return signals.flatMap((signal) => endpointOf(signal, env) ?? []);
}

function endpointOf(signal: Signal, env: Env): OtlpEndpoint | undefined {
	const upper = signal.toUpperCase();
	const exporter = variable(env, `OTEL_${upper}_EXPORTER`) ?? "otlp";
	if (!exporter.split(",").some((each) => each.trim() === "otlp"))
		return undefined;
	const setting = (name: string): string | undefined =>
		variable(env, `OTEL_EXPORTER_OTLP_${upper}_${name}`) ??
		variable(env, `OTEL_EXPORTER_OTLP_${name}`);
	const endpoint = setting("ENDPOINT");
	if (endpoint === undefined) return undefined;
	const given = setting("PROTOCOL");
	const protocol =
		given === "grpc" || given === "http/json" ? given : "http/protobuf";
	const isOwn =
		variable(env, `OTEL_EXPORTER_OTLP_${upper}_ENDPOINT`) !== undefined;
	return {
		signal,
		protocol,
		url:
			isOwn || protocol === "grpc"
				? endpoint
				: `${endpoint.replace(/\/$/, "")}/v1/${signal}`,
		headers: headersOf(setting("HEADERS") ?? ""),
		certificate: setting("CERTIFICATE"),
	};
}

function variable(env: Env, name: string): string | undefined {
	const value = env[name]?.trim();
	return value === "" ? undefined : value;
}

function headersOf(text: string): Readonly<Record<string, string>> {
	return Object.fromEntries(
		text.split(",").flatMap((pair) => {
			const at = pair.indexOf("=");
			if (at < 1) return [];
			const value = pair.slice(at + 1).trim();
			try {
				return [[pair.slice(0, at).trim(), decodeURIComponent(value)]];
			} catch {
				return [];
			}
		}),
	);
}

/** What an endpoint did with an empty request. */
export type EndpointAnswer =
	/** It takes data, as far as an empty request can show. */
	| { readonly kind: "answered" }
	/** Somebody answers there, and refuses the data. */
	| { readonly kind: "refused"; readonly reason: string }
	/** Nobody answers there. */
	| { readonly kind: "silent"; readonly reason: string };

/** Tries whether an endpoint can be reached, without being traced itself. Never rejects. */
export async function tryEndpoint(
	endpoint: OtlpEndpoint,
	withinMs: number,
): Promise<EndpointAnswer> {
	const signal = AbortSignal.timeout(withinMs);
	try {
		const status = await untraced(() =>
			endpoint.protocol === "grpc"
				? connected(endpoint, signal)
				: posted(endpoint, signal),
		);
		return answerOf(status);
	} catch (error) {
		const reason = signal.aborted
			? `no answer within ${withinMs / 1_000} s`
			: reasonOf(error);
		return { kind: "silent", reason };
	}
}

/** The errors of all addresses of a name are one error without a message. */
function reasonOf(error: unknown): string {
	const { message, errors } = error as Partial<AggregateError>;
	const [first] = (errors ?? []) as readonly Partial<Error>[];
	return message || first?.message || String(error);
}

/** A receiver may refuse an empty request as such (400). */
function answerOf(status: number): EndpointAnswer {
	if (status === 401 || status === 403)
		return {
			kind: "refused",
			reason: `it answers ${status}: it does not take the credentials in OTEL_EXPORTER_OTLP_HEADERS`,
		};
	if (status === 404)
		return { kind: "refused", reason: "it answers 404: it has no such path" };
	return status >= 500
		? { kind: "refused", reason: `it answers ${status}` }
		: { kind: "answered" };
}

function untraced<Value>(work: () => Value): Value {
	return context.with(ROOT_CONTEXT.setValue(SUPPRESS_TRACING, true), work);
}

/** @returns the status. */
function posted(
	{ url, protocol, headers, certificate }: OtlpEndpoint,
	signal: AbortSignal,
): Promise<number> {
	const { promise, resolve, reject } = Promise.withResolvers<number>();
	const body = protocol === "http/json" ? "{}" : "";
	const secure = new URL(url).protocol === "https:";
	const sent = (secure ? httpsRequest : httpRequest)(
		url,
		{
			method: "POST",
			agent: false,
			signal,
			headers: {
				...headers,
				"content-type":
					protocol === "http/json"
						? "application/json"
						: "application/x-protobuf",
				"content-length": body.length,
			},
			...(secure &&
				certificate !== undefined && { ca: readFileSync(certificate) }),
		},
		(response) => {
			response.resume();
			resolve(response.statusCode ?? 0);
		},
	);
	sent.on("error", reject);
	sent.end(body);
	return promise;
}

const GRPC_PORT = 4317;

/** Whether somebody listens: gRPC itself is not spoken here. */
function connected(
	{ url }: OtlpEndpoint,
	signal: AbortSignal,
): Promise<number> {
	const { promise, resolve, reject } = Promise.withResolvers<number>();
	const { hostname, port } = new URL(
		url.includes("://") ? url : `http://${url}`,
	);
	const socket = connect({
		host: hostname.replace(/^\[|\]$/g, ""),
		port: port === "" ? GRPC_PORT : Number(port),
		signal,
	});
	socket.on("error", reject);
	socket.on("connect", () => {
		socket.destroy();
		resolve(200);
	});
	return promise;
}
