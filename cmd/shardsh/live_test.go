package main

import (
	"context"
	"net"
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// listen serves a mock cluster on a port of this machine, so that the program
// meets it as any other cluster, and gives the address.
func listen(t *testing.T, topology string) string {
	t.Helper()
	parsed, err := mock.ParseTopology([]byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := mock.New(mock.Config{Topology: parsed})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &wire.Server{Handler: router.New(cluster, nil)}
	done := make(chan error, 1)
	go func() { done <- server.Serve(context.Background(), listener) }()
	t.Cleanup(func() {
		cluster.Close()
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func TestAnAddressIsALiveCluster(t *testing.T) {
	address := listen(t, unbalanced)
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string
	}{
		{"host:port", []string{address, "--eval", "sh.listShards().length"}, 0, "2\n"},
		{"host:port/db", []string{address + "/shop", "--eval", "db.getName()"}, 0, "shop\n"},
		{"a connection string", []string{"mongodb://" + address + "/shop", "--eval", "db.even.getShardVersion().ok"}, 0, "1\n"},
		{"a script", []string{"mongodb://" + address, "../../scripts/status.js"}, 1, "~shop.odd"},
		{"check", []string{"check", address}, 3, "shop.even  balanced\nshop.odd   NOT balanced: chunksImbalance (balancing is disabled)\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", tt.args...)
			part, isPart := strings.CutPrefix(tt.stdout, "~")
			if code != tt.code || isPart && !strings.Contains(stdout, part) || !isPart && stdout != tt.stdout {
				t.Errorf("exit code %d, stdout %q; want %d, %q\n%s", code, stdout, tt.code, tt.stdout, stderr)
			}
			if stderr != "" {
				t.Errorf("stderr %q", stderr)
			}
		})
	}
}
