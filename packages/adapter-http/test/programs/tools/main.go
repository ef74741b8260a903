// A server as people write them in Go: it knows nothing of Snakepit.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
)

var produced atomic.Int64

func lines(w http.ResponseWriter) *http.ResponseController {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return http.NewResponseController(w)
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		reply(w, 200, map[string]any{"echoed": json.RawMessage(body)})
	})
	mux.HandleFunc("POST /fail", func(w http.ResponseWriter, r *http.Request) {
		reply(w, 500, map[string]any{"detail": "on purpose"})
	})
	mux.HandleFunc("POST /sleep", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("begun")
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /silent", func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("begun")
		lines(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("POST /count", func(w http.ResponseWriter, r *http.Request) {
		out := lines(w)
		for n := 1; n <= 3; n++ {
			fmt.Fprintf(w, "{\"n\": %d}\n", n)
			out.Flush()
		}
	})
	mux.HandleFunc("POST /endless", func(w http.ResponseWriter, r *http.Request) {
		lines(w)
		line := "\"" + strings.Repeat("x", 65536) + "\"\n"
		for {
			produced.Add(1)
			if _, err := io.WriteString(w, line); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("GET /produced", func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, produced.Load())
	})
	mux.HandleFunc("POST /garble", func(w http.ResponseWriter, r *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			log.Fatal(err)
		}
		io.WriteString(connection, "this is no HTTP\r\n\r\n")
	})
	network, address := "unix", os.Args[1]
	if !strings.HasPrefix(address, "/") {
		network = "tcp"
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, mux))
}
