package clients_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
	"shardsh/balancer/mock/wire"
)

// An awaitable hello answers when its time is over, and needs both arguments.
func TestHelloTellsTheCommonCompressors(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.OK("admin", d("hello", 1, "compression", bson.A{"zstd", "lz4", "zlib"}))
	if first, err := reply.IndexErr(0); err != nil || first.Key() != "compression" || first.Value().String() != `["zstd","zlib"]` {
		t.Errorf("%s", reply)
	}
	for _, offered := range []any{nil, bson.A{}, bson.A{"lz4"}, "zlib"} {
		if reply := x.OK("admin", d("hello", 1, "compression", offered)); !reply.Lookup("compression").IsZero() {
			t.Errorf("of %v: %s", offered, reply)
		}
	}
}

func TestHello(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.OK("admin", d("hello", 1, "helloOk", true))
	if reply.Lookup("msg").StringValue() != "isdbgrid" || !reply.Lookup("isWritablePrimary").Boolean() || !reply.Lookup("helloOk").Boolean() {
		t.Errorf("hello %s", reply)
	}
	if !x.OK("admin", d("isMaster", 1)).Lookup("ismaster").Boolean() {
		t.Error("isMaster without ismaster")
	}
	if code := x.Code("admin", d("hello", 1, "maxAwaitTimeMS", 1)); code != 51760 {
		t.Errorf("code %d", code)
	}
	x.OK("admin", d("hello", 1, "maxAwaitTimeMS", 1, "topologyVersion", reply.Lookup("topologyVersion")))
}

func TestClientsSayOnceWhatTheyAre(t *testing.T) {
	x := routertest.NewS0(t)
	driver := func(name string) bson.D {
		return d("driver", d("name", name, "version", "1"), "os", d("type", "Linux"))
	}
	conn := &wire.ClientConn{ID: 7}
	for _, tt := range []struct {
		name   string
		client any
		code   int64
	}{
		{"not a document", 1, 14},
		{"too long a name", d("application", d("name", strings.Repeat("x", 129))), 184},
		{"too much", driver(strings.Repeat("x", 600)), 185},
		{"a driver", driver("go"), 0},
		{"the same again", driver("go"), 0},
		{"another", driver("node"), 186},
	} {
		code, _ := onConnection(x, conn, "admin", d("hello", 1, "client", tt.client)).Lookup("code").AsInt64OK()
		if code != tt.code {
			t.Errorf("%s: code %d, want %d", tt.name, code, tt.code)
		}
	}
}
