package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/dns"

	"shardsh/balancer/mock/wire"
	"shardsh/cmd/shardsh/target"
)

// recorder lets everybody in by the mechanisms that the mock does not know, and
// notes what was sent for that.
type recorder struct {
	wire.Handler
	mu   sync.Mutex
	sent []bson.Raw
}

func (r *recorder) Handle(ctx context.Context, q wire.Request) bson.Raw {
	if q.Command != "saslStart" && q.Command != "authenticate" {
		return r.Handler.Handle(ctx, q)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, bson.Raw(bytes.Clone(q.Body)))
	reply, _ := bson.Marshal(bson.D{{Key: "conversationId", Value: 1}, {Key: "done", Value: true},
		{Key: "payload", Value: []byte{}}, {Key: "ok", Value: 1.0}})
	return reply
}

// What the program sends to log in by what the mock does not know: the mechanism of
// the option, on the right database, with what belongs to it and nothing in clear
// that does not.
func TestLoginsByOtherMechanisms(t *testing.T) {
	ca := newAuthority(t)
	authorities := x509.NewCertPool()
	authorities.AddCert(ca.cert)
	secure := &tls.Config{Certificates: []tls.Certificate{ca.server("127.0.0.1")}, ClientAuth: tls.RequireAndVerifyClientCert,
		ClientCAs: authorities}
	for _, tt := range []struct {
		name, user, mechanism string
		args                  []string
		tls                   *tls.Config
		command, database     string
		code                  int
	}{
		{"X.509", "", "MONGODB-X509", []string{"--tls", "--tlsCAFile", ca.file(), "--tlsCertificateKeyFile", ca.client("")},
			secure, "authenticate", "$external", exitOK},
		{"LDAP", "joe:very secret@", "PLAIN", nil, nil, "saslStart", "$external", exitOK},
		// A server would answer with a nonce of its own, which this one does not have.
		{"AWS", "AKIAKEY:very secret@", "MONGODB-AWS", nil, nil, "saslStart", "$external", exitFailure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen := &recorder{}
			cluster := serve(t, unbalanced, func(s *setting) {
				s.tls = tt.tls
				s.around = func(next wire.Handler) wire.Handler { seen.Handler = next; return seen }
			})
			address := "mongodb://" + strings.ReplaceAll(tt.user, " ", "%20") + cluster.address + "/"
			args := append([]string{address, "--authenticationMechanism", tt.mechanism, "--quiet", "--timeout", "20s",
				"--eval", "db.runCommand({ping: 1}).ok"}, tt.args...)
			code, stdout, stderr := runProgram(t, "", args...)
			if code != tt.code || strings.Contains(stdout+stderr, "very secret") || code == exitOK && stdout != "1\n" {
				t.Errorf("exit code %d, %s%s", code, stdout, stderr)
			}
			seen.mu.Lock()
			defer seen.mu.Unlock()
			if len(seen.sent) == 0 {
				t.Fatalf("nothing was sent to log in: %s", stderr)
			}
			for _, sent := range seen.sent {
				name, _ := sent.IndexErr(0)
				mechanism, database := sent.Lookup("mechanism").StringValue(), sent.Lookup("$db").StringValue()
				if name.Key() != tt.command || mechanism != tt.mechanism || database != tt.database {
					t.Errorf("%s by %s on %s", name.Key(), mechanism, database)
				}
				if inClear := bytes.Contains(sent, []byte("very secret")); inClear != (tt.mechanism == "PLAIN") {
					t.Errorf("the password is in clear: %v", inClear)
				}
			}
		})
	}
}

// Kerberos is refused with a sentence, however it is asked for.
func TestKerberosIsNotBuiltIn(t *testing.T) {
	for _, args := range [][]string{
		{"mongodb://joe@127.0.0.1:1/?authMechanism=GSSAPI"}, {"127.0.0.1:1", "-u", "joe", "--authenticationMechanism", "GSSAPI"},
		{"127.0.0.1:1", "--gssapiServiceName", "x"},
	} {
		code, _, stderr := runProgram(t, "", append(args, "--eval", "1")...)
		if code != exitUsage || !strings.Contains(stderr, "Kerberos is not supported") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// dialTo dials one address, whatever it is asked for.
type dialTo string

func (d dialTo) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, string(d))
}

// mongodb+srv:// asks the name server for the routers and the options, and turns
// TLS on.
func TestSRV(t *testing.T) {
	real := dns.DefaultResolver
	t.Cleanup(func() { dns.DefaultResolver = real })
	dns.DefaultResolver = &dns.Resolver{
		LookupSRV: func(service, proto, name string) (string, []*net.SRV, error) {
			if service != "mongodb" || proto != "tcp" || name != "shop.example.com" {
				return "", nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
			}
			return "", []*net.SRV{{Target: "r1.example.com.", Port: 27017}, {Target: "r2.example.com.", Port: 27018}}, nil
		},
		LookupTXT: func(string) ([]string, error) { return []string{"authSource=users"}, nil },
	}
	env := environment{getenv: func(string) (string, bool) { return "", false }}
	settings := func(uri string) *target.ConnectionString {
		c, err := target.ConnectionFlags{Address: uri}.ConnectionString()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	o, err := newDialer(env).Settings(t.Context(), target.ConnectionFlags{}, settings("mongodb+srv://joe:pw@shop.example.com/app"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(o.Hosts)
	if !slices.Equal(o.Hosts, []string{"r1.example.com:27017", "r2.example.com:27018"}) || o.TLSConfig == nil ||
		o.Auth.AuthSource != "users" || o.Direct != nil && *o.Direct {
		t.Errorf("hosts %v, TLS %v, user of %s", o.Hosts, o.TLSConfig != nil, o.Auth.AuthSource)
	}
	if o, err = newDialer(env).Settings(t.Context(), target.ConnectionFlags{}, settings("mongodb+srv://shop.example.com/app?tls=false")); err != nil {
		t.Fatal(err)
	}
	client, err := mongo.Connect(o.SetDialer(dialTo(listen(t, unbalanced))))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Disconnect(client)
	if g, err := target.Hello(t.Context(), client); err != nil || g.Kind() != "mongos" {
		t.Errorf("%+v, %v", g, err)
	}
	code, _, stderr := runProgram(t, "", "mongodb+srv://none.example.com/", "--eval", "1")
	if code != exitFailure || !strings.Contains(stderr, "can't reach mongodb+srv://none.example.com: ") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// amazon answers the first message of a login by AWS, and notes the second one.
type amazon struct {
	wire.Handler
	mu   sync.Mutex
	sent []bson.Raw
}

func (a *amazon) Handle(ctx context.Context, q wire.Request) bson.Raw {
	_, payload, _ := q.Body.Lookup("payload").BinaryOK()
	reply := bson.D{{Key: "conversationId", Value: 1}, {Key: "done", Value: true}, {Key: "payload", Value: []byte{}}}
	switch q.Command {
	case "saslStart":
		_, nonce, _ := bson.Raw(payload).Lookup("r").BinaryOK()
		answer, _ := bson.Marshal(bson.D{
			{Key: "s", Value: append(bytes.Clone(nonce), make([]byte, 32)...)}, {Key: "h", Value: "sts.amazonaws.com"},
		})
		reply[1].Value, reply[2].Value = false, answer
	case "saslContinue":
		a.mu.Lock()
		a.sent = append(a.sent, bson.Raw(bytes.Clone(payload)))
		a.mu.Unlock()
	default:
		return a.Handler.Handle(ctx, q)
	}
	raw, _ := bson.Marshal(append(reply, bson.E{Key: "ok", Value: 1.0}))
	return raw
}

// The token of a temporary key goes with its signature, and nowhere else.
func TestAWSSessionToken(t *testing.T) {
	seen := &amazon{}
	cluster := serve(t, unbalanced, func(s *setting) {
		s.around = func(next wire.Handler) wire.Handler { seen.Handler = next; return seen }
	})
	for name, given := range map[string]struct {
		stdin string
		words []string
	}{"given": {"", []string{"--awsIamSessionToken", "tok secret"}}, "asked for": {"tok secret\n", []string{"--awsIamSessionToken"}}} {
		args := append([]string{cluster.address, "-u", "ASIAKEY", "-p", "very secret", "--authenticationMechanism", "MONGODB-AWS",
			"--timeout", "20s", "--eval", "db.runCommand({ping: 1}).ok"}, given.words...)
		seen.sent = nil
		code, stdout, stderr := runProgram(t, given.stdin, args...)
		if code != exitOK || stdout != "1\n" || strings.Contains(stderr, "secret") {
			t.Errorf("%s: exit code %d, %s%s", name, code, stdout, stderr)
		}
		seen.mu.Lock()
		if len(seen.sent) == 0 {
			t.Errorf("%s: nothing was signed", name)
		}
		for _, sent := range seen.sent {
			if token, _ := sent.Lookup("t").StringValueOK(); token != "tok secret" || bytes.Contains(sent, []byte("very secret")) {
				t.Errorf("%s: sent the token %q in %s", name, token, sent)
			}
		}
		seen.mu.Unlock()
	}
}
