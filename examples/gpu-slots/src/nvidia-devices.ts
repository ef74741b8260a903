import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * Returns the NVIDIA GPUs that this program may use, by UUID, or as a scheduler named them in `CUDA_VISIBLE_DEVICES`.
 * Without a driver there are none.
 *
 * @throws Error if `nvidia-smi` fails, as it does where the driver does not answer.
 */
export async function nvidiaDevices(
	environment: NodeJS.ProcessEnv = process.env,
): Promise<readonly string[]> {
	const { CUDA_VISIBLE_DEVICES: given } = environment;
	const listed = given?.split(",") ?? (await askDriver(environment));
	const devices = listed.map((device) => device.trim());
	return devices.filter((device) => device !== "" && device !== "-1");
}

async function askDriver(
	environment: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
	try {
		const { stdout } = await promisify(execFile)(
			"nvidia-smi",
			["--query-gpu=uuid", "--format=csv,noheader"],
			{ env: environment, timeout: 30_000 },
		);
		return stdout.split("\n");
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
		throw error;
	}
}
