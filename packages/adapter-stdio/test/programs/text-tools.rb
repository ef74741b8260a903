# A program as they are found in the wild: JSON-RPC 2.0 with headers, as language servers have it, and each request in
# a thread of its own.
require "json"

$stdin.binmode
$stdout.binmode
$sending = Mutex.new
$running = {}

class Fault < StandardError
  attr_reader :code, :data

  def initialize(code, message, data = nil)
    super(message)
    @code = code
    @data = data
  end
end

def send_message(message)
  body = JSON.generate({ jsonrpc: "2.0" }.merge(message))
  # A cancellation must not cut a message in two.
  Thread.handle_interrupt(Fault => :never) do
    $sending.synchronize do
      $stdout.write("Content-Length: #{body.bytesize}\r\n\r\n", body)
      $stdout.flush
    end
  end
end

def report(token, value) = send_message(method: "$/progress", params: { token:, value: })

$produced = 0
METHODS = {
  "echo" => ->(params, _) { params },
  "words" => ->(params, _) { params["text"].downcase.scan(/\w+/).tally },
  "fail" => ->(_, _) { raise Fault.new(-32000, "on purpose", "line 7") },
  "wait" => ->(_, _) { sleep },
  "count" => lambda { |params, id|
    (1..params["to"]).each { report(id, _1) }
    "counted"
  },
  "filler" => lambda { |_, id|
    $produced = 0
    loop do
      report(id, "x" * 1000)
      $produced += 1
    end
  },
  "produced" => ->(_, _) { $produced },
  "garble" => lambda { |_, _|
    $sending.synchronize { $stdout.write("this is no header\r\n\r\n") && $stdout.flush }
    nil
  },
}.freeze

def answer(id, method, params)
  run = METHODS.fetch(method) { raise Fault.new(-32601, "no method #{method}") }
  result = Thread.handle_interrupt(Fault => :immediate) { run.call(params, id) }
  send_message(id:, result:)
rescue Fault => e
  send_message(id:, error: { code: e.code, message: e.message, data: e.data })
ensure
  $running.delete(id)
end

def take(id, method, params)
  if method == "$/cancelRequest"
    $running[params["id"]]&.raise(Fault.new(-32800, "cancelled"))
  elsif id
    # The new thread inherits this: it can be cancelled where its method runs, and nowhere else.
    Thread.handle_interrupt(Fault => :never) do
      $running[id] = Thread.new { answer(id, method, params) }
    end
  end
end

while (head = $stdin.gets("\r\n\r\n"))
  length = head[/content-length: *(\d+)/i, 1].to_i
  message = JSON.parse($stdin.read(length))
  take(message["id"], message["method"], message["params"])
end
exit!(0)
