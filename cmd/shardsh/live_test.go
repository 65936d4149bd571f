package main

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/cmd/shardsh/target"
)

// liveCluster is a mock cluster on a port of this machine, which the program
// meets as any other cluster.
type liveCluster struct {
	address string
	mock    *mock.Cluster

	mu          sync.Mutex
	commands    []string
	connections map[int32]bool
}

// noting notes what is asked, and on which connection.
func (l *liveCluster) noting(next wire.Handler) wire.Handler {
	return handlerFunc(func(ctx context.Context, r wire.Request) bson.Raw {
		l.mu.Lock()
		l.commands = append(l.commands, r.Command)
		if l.connections == nil {
			l.connections = make(map[int32]bool)
		}
		l.connections[r.Client.ID] = true
		l.mu.Unlock()
		return next.Handle(ctx, r)
	})
}

type handlerFunc func(ctx context.Context, r wire.Request) bson.Raw

func (f handlerFunc) Handle(ctx context.Context, r wire.Request) bson.Raw { return f(ctx, r) }

// setting changes a cluster before it is served.
type setting struct {
	options []router.Option
	tls     *tls.Config
	around  func(wire.Handler) wire.Handler // nil for nothing
	members bool                            // shards have ports, too, and the same around
	real    bool                            // time passes as ours does
	mock    mock.Config                     // besides the topology and the time
}

// inRealTime is for what compares the cluster's time with its own.
func inRealTime(s *setting) { s.real = true }

func withUser(t *testing.T, name, password string) func(*setting) {
	directory := access.NewDirectory()
	if err := directory.Create("admin", name, access.UserSpec{Password: password}); err != nil {
		t.Fatal(err)
	}
	return func(s *setting) { s.options = append(s.options, router.WithUsers(directory, true)) }
}

func withTLS(config *tls.Config) func(*setting) { return func(s *setting) { s.tls = config } }

func serve(t *testing.T, topology string, settings ...func(*setting)) *liveCluster {
	t.Helper()
	var s setting
	for _, change := range settings {
		change(&s)
	}
	parsed, err := mock.ParseTopology([]byte(topology))
	if err != nil {
		t.Fatal(err)
	}
	s.mock.Topology, s.mock.RealTime = parsed, s.real
	cluster, err := mock.New(s.mock)
	if err != nil {
		t.Fatal(err)
	}
	front := router.New(cluster, nil, s.options...)
	l := new(liveCluster)
	l.address = s.listen(t, func(string) wire.Handler { return l.noting(front) })
	if s.members {
		addresses := map[catalog.ShardID]string{}
		for i, id := range cluster.ShardIDs() {
			addresses[id] = s.listen(t, func(address string) wire.Handler {
				return router.Member{Shard: id, Set: "rs" + strconv.Itoa(i), Address: address}.NewNode(front)
			})
		}
		if err := cluster.SetListenAddresses(addresses); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(cluster.Close)
	l.mock = cluster
	return l
}

// listen serves one node of a cluster until the test is over, and returns its address.
func (s *setting) listen(t *testing.T, of func(address string) wire.Handler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if s.tls != nil {
		listener = tls.NewListener(listener, s.tls)
	}
	handler := of(address)
	if s.around != nil {
		handler = s.around(handler)
	}
	server := &wire.Server{Handler: handler}
	done := make(chan error, 1)
	go func() { done <- server.Serve(context.Background(), listener) }()
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return address
}

func listen(t *testing.T, topology string) string { return serve(t, topology).address }

func TestAnAddressIsALiveCluster(t *testing.T) {
	address := listen(t, unbalanced)
	host, port, _ := strings.Cut(address, ":")
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string
	}{
		{"host:port", []string{address, "--eval", "sh.listShards().length"}, 0, "2\n"},
		{"host:port/db", []string{address + "/shop", "--eval", "db.getName()"}, 0, "shop\n"},
		{"--host and --port", []string{"--host", host, "--port", port, "shop", "--eval", "db.getName()"}, 0, "shop\n"},
		{"a connection string", []string{"mongodb://" + address + "/shop", "--eval", "db.even.getShardVersion().ok"}, 0,
			"1\n"},
		{"an API version", []string{address, "--apiVersion", "1", "--eval", "db.runCommand({ping: 1}).ok"}, 0, "1\n"},
		{"a script", []string{"mongodb://" + address, "../../scripts/status.js"}, 1, "~shop.odd"},
		{"check", []string{"check", address}, 0,
			"shop.odd   NOT balanced: chunksImbalance (balancing is disabled)\nshop.even  balanced\nOK\n"},
		{"check with --port", []string{"check", "--port", port, "--quiet"}, 0, "~NOT balanced"},
		{"the shell on a pipe", []string{address, "--interactive", "--quiet"}, 0, "~[direct: mongos] test> "},
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

// A one-liner costs the driver's handshakes, one hello, the wanted command, and the end of the session
// (rules/04-command-line-and-prompt §1.12). The driver watches a server on a connection of its own:
// that makes two.
func TestWhatAOneLinerSends(t *testing.T) {
	cluster := serve(t, unbalanced)
	code, stdout, stderr := runProgram(t, "", cluster.address+"/shop", "--eval", "db.even.countDocuments()")
	if code != exitOK || stdout != "0\n" {
		t.Fatalf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	cluster.mu.Lock()
	defer cluster.mu.Unlock()
	var sent []string
	for _, c := range cluster.commands {
		if c = strings.ToLower(c); c != "ismaster" && c != "hello" {
			sent = append(sent, c)
		}
	}
	if want := []string{"aggregate", "endsessions"}; !slices.Equal(sent, want) {
		t.Errorf("sent %v besides hello, want %v", sent, want)
	}
	if hellos := len(cluster.commands) - len(sent); hellos > 3 {
		t.Errorf("%d times hello: %v", hellos, cluster.commands)
	}
	if len(cluster.connections) > 2 {
		t.Errorf("%d connections", len(cluster.connections))
	}
}

// Addresses that scripts give are read as those of the command line.
func TestConnectionsOfScripts(t *testing.T) {
	address := listen(t, unbalanced)
	tests := []struct{ source, stdout, stderr string }{
		{"connect('" + address + "/shop').getName()", "shop\n", ""},
		{"Mongo('mongodb://" + address + "').getURI()", "mongodb://" + address +
			"/?directConnection=true&serverSelectionTimeoutMS=2000\n", ""},
		{"Mongo('mongodb://" + address + "/?nope=1')", "",
			"MongoParseError: the connection string has an option that is not supported: nope"},
		{"Mongo('mongodb://joe:se/cret@" + address + "')", "", "percent-encoded"},
	}
	for _, tt := range tests {
		code, stdout, stderr := runProgram(t, "", "--nodb", "--eval", tt.source)
		if (code == exitOK) != (tt.stderr == "") || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) ||
			strings.Contains(stderr, "cret") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", tt.source, code, stdout, stderr)
		}
	}
}

// The mode of watching servers is what the connection string says, also in
// those that scripts give, and polling without.
func TestServerMonitoringMode(t *testing.T) {
	tests := []struct{ uri, want string }{
		{"mongodb://h.example/", "poll"},
		{"mongodb://h.example/?serverMonitoringMode=stream", "stream"},
		{"mongodb://h.example/?servermonitoringmode=auto", "auto"},
		{"mongodb://h.example/?serverMonitoringMode=poll", "poll"},
	}
	for _, tt := range tests {
		settings, err := scriptClientOptions(t.Context(), environment{}, tt.uri)
		if err != nil {
			t.Fatal(err)
		}
		if got := *settings.ServerMonitoringMode; got != tt.want {
			t.Errorf("%s: %s, want %s", tt.uri, got, tt.want)
		}
	}
	if _, err := scriptClientOptions(t.Context(), environment{}, "mongodb://h/?serverMonitoringMode=x"); err == nil {
		t.Error("the mode x is not an error")
	}
}

const odd = `p:/?#[]@%+"` // what must be encoded in a connection string

func TestLoggingIn(t *testing.T) {
	address := serve(t, unbalanced, withUser(t, "joe", odd)).address
	file := writeFile(t, "password", odd+"\nmore\n")
	const encoded = "p%3A%2F%3F%23%5B%5D%40%25%2B%22"
	ping := []string{"--eval", "db.adminCommand({connectionStatus: 1}).authInfo.authenticatedUsers[0].user"}
	tests := []struct {
		name   string
		stdin  string
		env    string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"options", "", "", []string{address, "-u", "joe", "-p", odd}, 0, "joe\n", ""},
		{"another user than in the address", "", "", []string{"mongodb://eve:x@" + address, "-u", "joe", "-p", odd}, 0,
			"joe\n", ""},
		{"the address", "", "", []string{"mongodb://joe:" + encoded + "@" + address}, 0, "joe\n", ""},
		{"the environment", "", odd, []string{address, "-u", "joe"}, 0, "joe\n", ""},
		{"the environment for an address", "", odd, []string{"mongodb://joe@" + address}, 0, "joe\n", ""},
		{"a file", "", "", []string{address, "-u", "joe", "--passwordFile", file}, 0, "joe\n", ""},
		{"asked for", odd + "\n", "", []string{address, "-u", "joe", "-p"}, 0, "joe\n", "Enter password: \n"},
		{"asked for, as none was given", odd, "", []string{address, "-u", "joe"}, 0, "joe\n", "Enter password: \n"},
		{"the end of input is not a password", "", "", []string{address, "-u", "joe", "-p"}, 2, "",
			"no password was given: use --passwordFile"},
		{"the database that knows the user", "", odd, []string{address + "/shop", "-u", "joe", "--authenticationDatabase",
			"admin"}, 0, "joe\n", ""},
		{"another database", "", odd, []string{address + "/shop", "-u", "joe"}, 1, "",
			"looked for the user in the database shop; see --authenticationDatabase"},
		{"a wrong password", "", "", []string{address, "-u", "joe", "-p", "wrong"}, 1, "",
			"can't log in to mongodb://" + address + ": Authentication failed."},
		{"X.509 asks for no password", "", "", []string{address, "-u", "joe", "--authenticationMechanism", "MONGODB-X509"}, 1,
			"", "can't"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := program{stdin: tt.stdin, env: map[string]string{}, args: append(tt.args, ping...)}
			if tt.env != "" {
				run.env[target.PasswordVariable] = tt.env
			}
			code, stdout, stderr := run.run(t)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) ||
				tt.stderr == "" && stderr != "" {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			for _, secret := range []string{odd, encoded, "wrong"} {
				if strings.Contains(stderr, secret) {
					t.Errorf("stderr tells the password: %q", stderr)
				}
			}
		})
	}
}

// A script on standard input is not read as the answer to a question.
func TestThePasswordIsNotReadFromTheScript(t *testing.T) {
	if isTerminalAvailable() {
		t.Skip("there is a terminal to ask on")
	}
	code, stdout, stderr := runProgram(t, "print(1)\n", "127.0.0.1:1", "-u", "joe")
	if code != exitUsage || stdout != "" || !strings.Contains(stderr,
		"no terminal to ask for the password on: use --passwordFile or SHARDSH_PASSWORD") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
