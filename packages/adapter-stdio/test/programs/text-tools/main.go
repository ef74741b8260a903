// A program as they are found in the wild: JSON-RPC 2.0, one message a line, and each request in a goroutine of its own.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

type message struct {
	Version string          `json:"jsonrpc"`
	ID      any             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *fault          `json:"error,omitempty"`
}

type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (f *fault) Error() string { return f.Message }

type call struct {
	context.Context
	id     any
	params map[string]any
}

var (
	sending  sync.Mutex
	running  sync.Map
	produced atomic.Int64
	out      = json.NewEncoder(os.Stdout)
)

func send(m message) {
	sending.Lock()
	defer sending.Unlock()
	m.Version = "2.0"
	if err := out.Encode(m); err != nil {
		os.Exit(1)
	}
}

func report(token, value any) {
	params, _ := json.Marshal(map[string]any{"token": token, "value": value})
	send(message{Method: "$/progress", Params: params})
}

var cancelled = &fault{Code: -32800, Message: "cancelled"}

var methods = map[string]func(call) (any, error){
	"echo": func(c call) (any, error) { return c.params, nil },
	"words": func(c call) (any, error) {
		count := map[string]int{}
		for _, word := range strings.Fields(strings.ToLower(c.params["text"].(string))) {
			count[word]++
		}
		return count, nil
	},
	"fail": func(call) (any, error) {
		return nil, &fault{Code: -32000, Message: "on purpose", Data: "line 7"}
	},
	"wait": func(c call) (any, error) {
		<-c.Done()
		return nil, cancelled
	},
	"count": func(c call) (any, error) {
		for n := 1.0; n <= c.params["to"].(float64); n++ {
			report(c.id, n)
		}
		return "counted", nil
	},
	"filler": func(c call) (any, error) {
		produced.Store(0)
		for c.Err() == nil {
			report(c.id, strings.Repeat("x", 1000))
			produced.Add(1)
		}
		return nil, cancelled
	},
	"produced": func(call) (any, error) { return produced.Load() + 0, nil },
	"garble": func(call) (any, error) {
		sending.Lock()
		defer sending.Unlock()
		fmt.Println("this is not JSON")
		return "went on", nil
	},
}

func answer(m message, c call) {
	defer running.Delete(m.ID)
	method, found := methods[m.Method]
	if !found {
		send(message{ID: m.ID, Error: &fault{Code: -32601, Message: "no method " + m.Method}})
		return
	}
	result, err := method(c)
	if err != nil {
		send(message{ID: m.ID, Error: err.(*fault)})
		return
	}
	send(message{ID: m.ID, Result: result})
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			os.Exit(2)
		}
		params := map[string]any{}
		_ = json.Unmarshal(m.Params, &params)
		if m.Method == "$/cancelRequest" {
			if cancel, found := running.Load(params["id"]); found {
				cancel.(context.CancelFunc)()
			}
		} else if m.ID != nil {
			ctx, cancel := context.WithCancel(context.Background())
			running.Store(m.ID, cancel)
			go answer(m, call{ctx, m.ID, params})
		}
	}
}
