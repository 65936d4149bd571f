package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"shardsh/cmd/shardsh/target"
)

// servedProgram is "shardsh serve" inside the test.
type servedProgram struct {
	t      *testing.T
	uri    string
	cancel context.CancelCauseFunc
	code   chan int
	log    *lockedBuffer
	more   *lockedBuffer // of its output, after the first line
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// startServe runs the program on a free port until the test ends, and checks that it
// leaves no goroutines.
func startServe(t *testing.T, args ...string) *servedProgram {
	t.Helper()
	checkGoroutines(t)
	return startServeParallel(t, args...)
}

// checkGoroutines checks, at the end of a test and its subtests, that no more goroutines
// run than now.
func checkGoroutines(t *testing.T) {
	t.Helper()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt) // the first that listens starts a goroutine that stays
	signal.Stop(signals)
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("goroutines are left:\n%s", stacks())
			}
		}
	})
}

// stacks returns what all goroutines are at.
func stacks() []byte {
	text := make([]byte, 1<<20)
	return text[:runtime.Stack(text, true)]
}

// startServeParallel is startServe for parallel subtests: each sees the goroutines of the
// others, so their parent calls checkGoroutines.
func startServeParallel(t *testing.T, args ...string) *servedProgram {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	out, in := io.Pipe()
	p := &servedProgram{t: t, cancel: cancel, code: make(chan int, 1), log: &lockedBuffer{}}
	env := environment{
		args:    append([]string{"serve", "--port", "0"}, args...),
		streams: streams{stdin: strings.NewReader(""), stdout: in, stderr: p.log},
		getenv:  func(string) (string, bool) { return "", false },
	}
	go func() {
		code := env.run(ctx)
		in.Close()
		p.code <- code
	}()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no start line: exit code %d, %s", <-p.code, p.log)
	}
	p.more = &lockedBuffer{}
	go func() { _, _ = io.Copy(p.more, lines) }()
	p.uri = strings.TrimSpace(line)
	t.Cleanup(func() {
		if p.cancel != nil {
			p.stop(syscall.SIGTERM)
		}
	})
	return p
}

// servePatience is how long a test waits for a program that serves. It ends within a
// second on a quiet machine.
const servePatience = 2 * time.Minute

// stop ends the program as a signal does; it must end well.
func (p *servedProgram) stop(sig syscall.Signal) {
	p.t.Helper()
	p.cancel(signalError{sig})
	p.cancel = nil
	select {
	case code := <-p.code:
		if code != exitOK {
			p.t.Errorf("exit code %d after %v: %s", code, sig, p.log)
		}
	case <-time.After(servePatience):
		p.t.Fatalf("it goes on %v after %v: %s\n%s", servePatience, sig, p.log, stacks())
	}
}

// address is host:port of the start line.
func (p *servedProgram) address() string {
	rest, _, _ := strings.Cut(strings.TrimPrefix(p.uri, "mongodb://"), "/")
	return rest
}

// driver connects the Go driver. Its monitor polls: a streaming one now and
// then takes ten seconds to notice that its client is done.
func (p *servedProgram) driver(uri string, change ...func(*options.ClientOptions)) *mongo.Client {
	p.t.Helper()
	opts := options.Client().ApplyURI(uri).SetServerMonitoringMode(connstring.ServerMonitoringModePoll)
	for _, f := range change {
		f(opts)
	}
	client, err := mongo.Connect(opts)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { target.Disconnect(client) })
	return client
}

func TestServeCommandLine(t *testing.T) {
	password := writeFile(t, "password", "secret\n")
	lines := writeFile(t, "lines", "a\nb\n")
	empty := writeFile(t, "empty", "\n")
	open := writeFile(t, "open", "secret")
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	tests := []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"an address", []string{"127.0.0.1"}, 2, "--bind"},
		{"an unknown option", []string{"--nope"}, 2, "--nope"},
		{"where the options are", []string{"--nope"}, 2, "See shardsh serve --help."},
		{"a port out of range", []string{"--port", "70000"}, 2, "--port takes 0 to 65535"},
		{"a port that is taken", []string{"--port", port}, 1, "0 any that is free"},
		{"a port in --bind", []string{"--bind", "127.0.0.1:5"}, 2, "use --port"},
		{"an address that is none", []string{"--bind", "300.0.0.1", "--auth", "a:" + password}, 1,
			"can't listen on 300.0.0.1"},
		{"an empty address", []string{"--bind", ""}, 2, "--bind"},
		{"other machines without users", []string{"--bind", "0.0.0.0"}, 2, "--auth user:file"},
		{"other machines among several", []string{"--bind", "127.0.0.1,::"}, 2, "--auth user:file"},
		{"no shards", []string{"--shards", "0"}, 2, "takes 1 to 1000 shards"},
		{"shards and a topology", []string{"--shards", "2", "--topology", "x"}, 2, "exclude each other"},
		{"a topology that is not there", []string{"--topology", "nowhere.json"}, 2, "nowhere.json"},
		{"a bad time", []string{"--mock-time", "fast"}, 2, "real, virtual, or a pace"},
		{"a bad level", []string{"--log-level", "loud"}, 2, "debug, info, warn or error"},
		{"no connections", []string{"--max-connections", "0"}, 2, "--max-connections"},
		{"no time for cursors", []string{"--idle-cursor-timeout", "0s"}, 2, "--idle-cursor-timeout"},
		{"a time without a unit", []string{"--idle-cursor-timeout", "10"}, 2, "--idle-cursor-timeout"},
		{"an unknown parameter", []string{"--set-parameter", "nope=1", "--port", "0"}, 2, `"nope"`},
		{"a user without a file", []string{"--auth", "me"}, 2, "user:file"},
		{"a password file that is not there", []string{"--auth", "me:nowhere"}, 2, "nowhere"},
		{"a password that others may read", []string{"--auth", "me:" + open}, 2, "chmod 600"},
		{"a password of two lines", []string{"--auth", "me:" + lines}, 2, "after the password, lines must be like"},
		{"a role that is none", []string{"--auth", "me:" + writeFile(t, "king", "secret\nrole: king\n")}, 2, "line 2 of "},
		{"a role of another database", []string{"--auth", "me:" + writeFile(t, "far", "secret\nrole: root@app\n")}, 2,
			"the database app has no built-in role root"},
		{"an empty password", []string{"--auth", "me:" + empty}, 2, "empty"},
		{"a directory for a password", []string{"--auth", "me:" + t.TempDir()}, 2, "directory"},
		{"a user twice", []string{"--auth", "me:" + password, "--auth", "me:" + password}, 2, "twice"},
		{"a key without a certificate", []string{"--tls-key", "x"}, 2, "--tls-cert"},
		{"a certificate that is not there", []string{"--tls-cert", "nowhere.pem"}, 2, "nowhere.pem"},
		{"a certificate that is none", []string{"--tls-cert", password}, 2, "--tls-cert"},
		{"help", []string{"--help"}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := runProgram(t, "", append([]string{"serve"}, tt.args...)...)
			if code != tt.code || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("exit code %d, want %d; stderr %q, want %q in it", code, tt.code, stderr, tt.stderr)
			}
			if strings.Contains(stderr+stdout, "secret") {
				t.Errorf("the password shows: %q", stderr)
			}
			if tt.name == "help" && !strings.Contains(stdout, "--shard-ports") {
				t.Errorf("help is %q", stdout)
			}
		})
	}
}

func TestServeStopsWellOnSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := startServe(t)
		client := p.driver(p.uri)
		if err := client.Ping(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		p.stop(sig)
		if log := p.log.String(); !strings.Contains(log, "msg=listening") || !strings.Contains(log, "msg=stopped") {
			t.Errorf("the log is %s", log)
		}
	}
}

// The file of a user's password may give roles, which are enforced.
func TestServeUsersHaveRoles(t *testing.T) {
	p := startServe(t, "--auth", "reader:"+writeFile(t, "reader", "secret\nrole: read@app\r\nrole: clusterMonitor\n"),
		"--auth", "root:"+writeFile(t, "root", "secret"))
	as := func(name string) *mongo.Client {
		return p.driver(p.uri, func(o *options.ClientOptions) {
			o.SetAuth(options.Credential{Username: name, Password: "secret"})
		})
	}
	reader, root := as("reader"), as("root")
	if _, err := root.Database("app").Collection("orders").InsertOne(t.Context(), document("k", 1)); err != nil {
		t.Fatal(err)
	}
	if n, err := reader.Database("app").Collection("orders").CountDocuments(t.Context(), bson.D{}); err != nil || n != 1 {
		t.Errorf("%d documents, %v", n, err)
	}
	adminCommand(t, reader, "listShards", 1)
	_, err := reader.Database("app").Collection("orders").InsertOne(t.Context(), document("k", 2))
	if err == nil || !strings.Contains(err.Error(), "not authorized on app to execute command { insert: \"orders\"") {
		t.Errorf("an insert of a reader: %v", err)
	}
	if err := reader.Database("admin").RunCommand(t.Context(), document("balancerStop", 1)).Err(); err == nil {
		t.Error("a reader stops the balancer")
	}
}

// Drivers may compress what they send, and get answers so.
func TestServeCompressors(t *testing.T) {
	p := startServe(t, "--auth", "root:"+writeFile(t, "password", "secret"))
	for _, name := range []string{"snappy", "zlib", "zstd"} {
		client := p.driver(p.uri+"?compressors="+name, func(o *options.ClientOptions) {
			o.SetAuth(options.Credential{Username: "root", Password: "secret"})
		})
		coll := client.Database("app").Collection(name)
		docs := make([]any, 5000)
		for i := range docs {
			docs[i] = document("_id", i, "pad", strings.Repeat("x", i%500))
		}
		if _, err := coll.InsertMany(t.Context(), docs); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var back []bson.Raw
		cursor, err := coll.Find(t.Context(), bson.D{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := cursor.All(t.Context(), &back); err != nil || len(back) != len(docs) {
			t.Errorf("%s: %d documents, %v", name, len(back), err)
		}
	}
}

// What waits longer than the grace is interrupted.
func TestServeInterruptsWhatTakesTooLong(t *testing.T) {
	p := startServe(t, "--grace", "50ms", "--topology", writeFile(t, "t.json",
		`{"shards": [{"id": "a"}, {"id": "b"}], "collections": [{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", `+
			`"bytes": "900GB", "docs": 100}]}]}`))
	admin := p.driver(p.uri).Database("admin")
	moved := make(chan error, 1)
	go func() {
		moved <- admin.RunCommand(context.Background(), bson.D{
			{Key: "moveChunk", Value: "x.y"}, {Key: "find", Value: bson.D{{Key: "k", Value: 1}}}, {Key: "to", Value: "b"},
			{Key: "forceJumbo", Value: true},
		}).Err()
	}()
	for under := false; !under; time.Sleep(time.Millisecond) {
		cursor, err := admin.Aggregate(t.Context(), bson.A{
			bson.D{{Key: "$currentOp", Value: bson.D{}}},
			bson.D{{Key: "$match", Value: bson.D{{Key: "desc", Value: "MoveChunk"}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		under = cursor.Next(t.Context())
	}
	p.stop(syscall.SIGTERM)
	if err := <-moved; err == nil {
		t.Error("the migration of 900 GB is over")
	}
}

func TestServeJSONLog(t *testing.T) {
	p := startServe(t, "--log-json", "--log-level", "debug")
	p.stop(syscall.SIGTERM)
	for line := range strings.Lines(p.log.String()) {
		if err := bson.UnmarshalExtJSON([]byte(line), false, &bson.D{}); err != nil {
			t.Errorf("%q is not JSON: %v", line, err)
		}
	}
}

func TestServeLimitsConnections(t *testing.T) {
	p := startServe(t, "--max-connections", "1")
	var conns []net.Conn
	for range 2 {
		nc, err := net.Dial("tcp", p.address())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		conns = append(conns, nc)
	}
	if _, err := conns[1].Read(make([]byte, 1)); err == nil {
		t.Error("the second connection is served")
	}
	for _, nc := range conns {
		nc.Close()
	}
}

// A peer that talks nonsense loses its connection and disturbs nobody.
func TestServeSurvivesNonsense(t *testing.T) {
	p := startServe(t, "--log-level", "error")
	client := p.driver(p.uri)
	if err := client.Ping(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, nonsense := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello", strings.Repeat("\xff", 64), strings.Repeat("\x00", 16)} {
		nc, err := net.Dial("tcp", p.address())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Write([]byte(nonsense)); err != nil {
			t.Fatal(err)
		}
		if reply, _ := io.ReadAll(nc); len(reply) > 0 {
			t.Errorf("%q is answered with %q", nonsense, reply)
		}
		nc.Close()
	}
	if err := client.Ping(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// writeCertificate makes a certificate for this machine, its own authority.
func writeCertificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "shardsh test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert},
		keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// Shards and the config server answer on ports of their own, found where a
// client looks for them: in listShards and getShardMap.
func TestServeShardPorts(t *testing.T) {
	p := startServe(t, "--shard-ports", "--shards", "2", "--auth", "root:"+writeFile(t, "password", "secret"))
	auth := func(o *options.ClientOptions) {
		o.SetAuth(options.Credential{Username: "root", Password: "secret"})
	}
	client := p.driver(p.uri, auth)
	adminCommand(t, client, "enableSharding", "app", "primaryShard", "shard0")
	adminCommand(t, client, "shardCollection", "app.orders", "key", document("k", 1))
	orders := client.Database("app").Collection("orders")
	if _, err := orders.InsertMany(t.Context(), []any{document("k", 1), document("k", 2)}); err != nil {
		t.Fatal(err)
	}
	adminCommand(t, client, "moveChunk", "app.orders", "find", document("k", 1), "to", "shard1")
	var shards struct {
		Map map[string]string
	}
	if err := bson.Unmarshal(adminCommand(t, client, "getShardMap", 1), &shards); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int64{"shard0": 2, "shard1": 2, "config": 0} { // shard0 has orphans
		set, host, _ := strings.Cut(shards.Map[id], "/")
		member := p.driver("mongodb://"+host+"/?replicaSet="+set, auth)
		if n, err := member.Database("app").Collection("orders").CountDocuments(t.Context(), bson.D{}); err != nil ||
			n != want {
			t.Errorf("%s at %s/%s has %d documents, %v, want %d", id, set, host, n, err, want)
		}
		config := adminCommand(t, member, "replSetGetConfig", 1).Lookup("config").Document()
		if config.Lookup("_id").StringValue() != set || config.Lookup("members", "0", "host").StringValue() != host {
			t.Errorf("%s at %s/%s says that its set is %s", id, set, host, config)
		}
		tasks, err := member.Database("config").Collection("rangeDeletions").CountDocuments(t.Context(), bson.D{})
		if has := tasks == 1; err != nil || has != (id == "shard0") {
			t.Errorf("%s has %d ranges to delete, %v", id, tasks, err)
		}
		if n, err := member.Database("local").Collection("oplog.rs").EstimatedDocumentCount(t.Context()); err != nil || n != 2 {
			t.Errorf("%s has %d entries in its oplog, %v", id, n, err)
		}
	}
}

// The shards of a kept cluster are found where they listen this time, those
// of a snapshot too.
func TestServeShardPortsOfAKeptCluster(t *testing.T) {
	dir := t.TempDir()
	members := func(client *mongo.Client) map[string]string {
		t.Helper()
		var shards struct {
			Map map[string]string
		}
		if err := bson.Unmarshal(adminCommand(t, client, "getShardMap", 1), &shards); err != nil {
			t.Fatal(err)
		}
		return shards.Map
	}
	count := func(p *servedProgram, address string) int64 {
		t.Helper()
		set, host, _ := strings.Cut(address, "/")
		n, err := p.driver("mongodb://"+host+"/?replicaSet="+
			set).Database("app").Collection("orders").CountDocuments(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	p := startServe(t, "--shard-ports", "--dbpath", dir, "--shards", "2")
	client := p.driver(p.uri)
	adminCommand(t, client, "enableSharding", "app", "primaryShard", "shard1")
	if _, err := client.Database("app").Collection("orders").InsertOne(t.Context(), document("k", 1)); err != nil {
		t.Fatal(err)
	}
	adminCommand(t, client, "mockSave", "one")
	first := members(client)
	p.stop(syscall.SIGTERM)

	for _, args := range [][]string{{"--dbpath", dir}, {"--snapshot", filepath.Join(dir, "snapshots", "one")},
		{"--dbpath", t.TempDir(), "--snapshot", filepath.Join(dir, "snapshots", "one")}} {
		p := startServe(t, append(args, "--shard-ports")...)
		client := p.driver(p.uri)
		now := members(client)
		for _, id := range []string{"shard0", "shard1", "config"} {
			set, _, _ := strings.Cut(first[id], "/")
			if now[id] == first[id] || !strings.HasPrefix(now[id], set+"/") {
				t.Errorf("%v: %s is at %s, before at %s", args, id, now[id], first[id])
			}
		}
		if n := count(p, now["shard1"]); n != 1 {
			t.Errorf("%v: shard1 has %d documents", args, n)
		}
		if len(args) == 2 && args[0] == "--dbpath" {
			adminCommand(t, client, "mockLoad", "one")
			if again := members(client); again["shard1"] != now["shard1"] {
				t.Errorf("a loaded snapshot moves shard1 from %s to %s", now["shard1"], again["shard1"])
			}
		}
		p.stop(syscall.SIGTERM)
	}
}
