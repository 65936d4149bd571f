package live_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// serveMillion has this test's program serve a large cluster instead of running
// tests, so that the reader's memory is not that of the mock.
const serveMillion = "SHARDSH_TEST_SERVE_MILLION"

func TestMain(m *testing.M) {
	if os.Getenv(serveMillion) == "" {
		os.Exit(m.Run())
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const benchChunks, benchShards = 1_000_000, 100

// serve serves a collection of a million chunks on a hundred shards on a port of
// its own until its input ends.
func serve() error {
	var top mock.Topology
	for i := range benchShards {
		top.Shards = append(top.Shards, mock.TopologyShard{ID: fmt.Sprintf("shard%03d", i)})
	}
	coll := mock.TopologyCollection{Namespace: "big.data", Key: json.RawMessage(`{"k": 1}`)}
	coll.Chunks = make([]mock.TopologyChunk, benchChunks)
	for i := range coll.Chunks {
		coll.Chunks[i] = mock.TopologyChunk{Shard: top.Shards[i*7919%benchShards].ID, Docs: 10,
			Bytes: json.RawMessage("1048576")}
		if i > 0 {
			coll.Chunks[i].Min = json.RawMessage(fmt.Sprintf(`{"k": %d}`, i*1000))
		}
	}
	top.Collections = []mock.TopologyCollection{coll}
	cluster, err := mock.New(mock.Config{Topology: &top})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	server := &wire.Server{Handler: router.New(cluster, nil)}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark is over
		server.Close()
	}()
	return server.Serve(context.Background(), l)
}

// million starts another process that serves a million chunks, and connects.
func million(b *testing.B) *mongo.Client {
	b.Helper()
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), serveMillion+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	client, err := mongo.Connect(options.Client().
		ApplyURI("mongodb://" + strings.TrimSpace(address) + "/?directConnection=true").
		SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	if err := client.Database("admin").RunCommand(b.Context(), bson.D{e("balancerStop", 1)}).Err(); err != nil {
		b.Fatal(err)
	}
	return client
}

// BenchmarkMillionChunks reads a cluster of a million chunks on a hundred shards
// over loopback TCP, at once and again after ten moves.
func BenchmarkMillionChunks(b *testing.B) {
	client := million(b)
	reader := live.NewReader(client, live.ReaderOptions{})
	b.Run("read", func(b *testing.B) {
		peak := peakHeap()
		for b.Loop() {
			s, err := reader.Read(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if s.Collection("big.data").Table.Len() != benchChunks || len(s.Parts().Source.Gaps) > 0 {
				b.Fatalf("gaps %v", s.Parts().Source.Gaps)
			}
		}
		b.ReportMetric(peak(), "peakMB")
	})
	b.Run("again after 10 moves", func(b *testing.B) {
		s, err := reader.Read(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		moves := 0
		for b.Loop() {
			b.StopTimer()
			for range 10 {
				move(b, client, moves*1009, moves)
				moves++
			}
			b.StartTimer()
			next, err := reader.ReadSince(b.Context(), s)
			if err != nil {
				b.Fatal(err)
			}
			if next.Collection("big.data").Table.Version() == s.Collection("big.data").Table.Version() {
				b.Fatal("nothing has changed")
			}
			s = next
		}
	})
}

func move(b *testing.B, client *mongo.Client, chunk, n int) {
	b.Helper()
	table := bson.D{e("k", chunk%benchChunks*1000+1)}
	to := fmt.Sprintf("shard%03d", (chunk*7919+1+n)%benchShards)
	command := bson.D{e("moveChunk", "big.data"), e("find", table), e("to", to)}
	if err := client.Database("admin").RunCommand(b.Context(), command).Err(); err != nil {
		b.Fatal(err)
	}
}

// peakHeap watches the heap until the function it returns is called, which gives
// the most there was beyond what was there at the beginning, in MB.
func peakHeap() func() float64 {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, most := heap(), uint64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, heap())
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() float64 {
		close(stop)
		<-stopped
		return float64(max(most, before)-before) / (1 << 20)
	}
}
