const VALUES: readonly string[] = [
	"tests/test_own_types.py",
	"tests/test_value_attachments.py",
	"tests/test_value_conversions.py",
	"tests/test_value_paths.py",
	"tests/test_value_vectors.py",
];

const FORKING: readonly string[] = ["tests/preload/test_fork_requests.py"];

/** Files of the Python side that only decide, and their own tests; paths from `python`. */
export const PYTHON_FILES: Readonly<Record<string, readonly string[]>> = {
	"src/snakepit_bridge/bridge/host_frames.py": ["tests/test_host_frames.py"],
	"src/snakepit_bridge/bridge/plain_intake.py": ["tests/test_plain_intake.py"],
	"src/snakepit_bridge/calls/call_page.py": ["tests/test_call_page.py"],
	"src/snakepit_bridge/calls/credit.py": ["tests/test_credit.py"],
	"src/snakepit_bridge/calls/plain_run.py": ["tests/test_plain_run.py"],
	"src/snakepit_bridge/calls/turns.py": ["tests/test_turns.py"],
	"src/snakepit_bridge/forking/frames.py": FORKING,
	"src/snakepit_bridge/forking/requests.py": FORKING,
	"src/snakepit_bridge/tools/function_shape.py": [
		"tests/test_function_shape.py",
	],
	"src/snakepit_bridge/tools/binding.py": [
		"tests/test_arguments.py",
		"tests/test_binding.py",
	],
	"src/snakepit_bridge/values/decode.py": VALUES,
	"src/snakepit_bridge/values/encode.py": VALUES,
};
