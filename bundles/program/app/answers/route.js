import { answers, shown } from "../../answers.mjs";

export const dynamic = "force-dynamic";

export async function GET() {
	const found = await answers(process.env.TOOLS, process.env.LEDGER);
	return new Response(shown(found));
}
