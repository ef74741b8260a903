import { answers, asJson } from "../../answers.mjs";

export const dynamic = "force-dynamic";

export async function GET() {
	const results = await answers(process.env.TOOLS, process.env.LEDGER);
	return new Response(asJson(results));
}
