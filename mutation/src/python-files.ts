/** Files of the Python side that only decide, and their own tests; paths from `python`. */
export const PYTHON_FILES: Readonly<Record<string, readonly string[]>> = {
	"src/snakepit_bridge/bridge/host_frames.py": ["tests/test_host_frames.py"],
	"src/snakepit_bridge/calls/call_page.py": ["tests/test_call_page.py"],
	"src/snakepit_guard/frames.py": ["tests/guard/test_frames.py"],
	"src/snakepit_guard/kill_order.py": ["tests/guard/test_kill_order.py"],
};
