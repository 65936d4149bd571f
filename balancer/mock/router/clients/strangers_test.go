package clients_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
	"shardsh/balancer/mock/wire"
)

// A connection is its user's, not that of whoever has the name later.
func TestUserMadeAgainIsAnother(t *testing.T) {
	x := routertest.NewRoleTester(t)
	mustAs := func(command bson.D) {
		t.Helper()
		if reply := x.As("root", "app", command); reply.Lookup("ok").AsFloat64() != 1 {
			t.Fatalf("%v: %s", command, reply)
		}
	}
	find := func(client *mongo.Client) error {
		return client.Database("app").RunCommand(context.Background(), d("find", "orders")).Err()
	}
	mustAs(d("createUser", "joe", "pwd", "p", "roles", bson.A{}))
	joe := x.Login("joe", "p", "app")
	if err := find(joe); err == nil || !strings.Contains(err.Error(), "not authorized") {
		t.Fatalf("without roles: %v", err)
	}
	mustAs(d("updateUser", "joe", "pwd", "other", "roles", bson.A{"read"}))
	if err := find(joe); err != nil {
		t.Errorf("with another password the same user is still logged in: %v", err)
	}
	mustAs(d("dropUser", "joe"))
	mustAs(d("createUser", "joe", "pwd", "new", "roles", bson.A{"read"}))
	if err := find(joe); err == nil || !strings.Contains(err.Error(), "requires authentication") {
		t.Errorf("as the user of the same name: %v", err)
	}
	if err := find(x.Login("joe", "new", "app")); err != nil {
		t.Errorf("the new user: %v", err)
	}
}

// The same connection may log in as the new user; before, nothing of the old
// one is left on it.
func TestConnectionOfAGoneUserIsNobodys(t *testing.T) {
	x := routertest.NewRoleTester(t)
	made := d("createUser", "joe", "pwd", "p", "roles", bson.A{"read"})
	x.As("root", "app", made)
	joe := x.Login("joe", "p", "app")
	cursor, err := joe.Database("app").RunCommand(context.Background(), d("find", "orders", "batchSize", 1)).Raw()
	if err != nil {
		t.Fatal(err)
	}
	x.As("root", "app", d("dropUser", "joe"))
	x.As("root", "app", made)
	status, err := joe.Database("app").RunCommand(context.Background(), d("connectionStatus", 1, "showPrivileges", true)).Raw()
	if err != nil {
		t.Fatal(err)
	}
	if info := fmt.Sprint(status.Lookup("authInfo")); strings.Contains(info, "joe") || strings.Contains(info, "find") {
		t.Errorf("still somebody: %s", info)
	}
	more := d("getMore", cursor.Lookup("cursor", "id").Int64(), "collection", "orders")
	if err := x.Login("joe", "p", "app").Database("app").RunCommand(context.Background(), more).Err(); err == nil {
		t.Error("the new user reads the old one's cursor")
	}
}

// heard is what a stranger hears of a name: the mechanisms, and the first
// answer of each.
func heard(t *testing.T, x *tester, name string) string {
	t.Helper()
	reply := x.OK("admin", d("hello", 1, "saslSupportedMechs", "admin."+name))
	text := fmt.Sprint(reply.Lookup("saslSupportedMechs"))
	for i, m := range []string{"SCRAM-SHA-1", "SCRAM-SHA-256"} {
		reply := onConnection(x, &wire.ClientConn{ID: int32(i)}, "admin",
			d("saslStart", 1, "mechanism", m, "payload", bson.Binary{Data: []byte("n,,n=" + name + ",r=abc")}))
		_, payload, ok := reply.Lookup("payload").BinaryOK()
		if !ok {
			t.Fatalf("%s with %s: %s", name, m, reply)
		}
		_, rest, _ := strings.Cut(string(payload), ",s=")
		text += " " + rest
	}
	return text
}

// What strangers hear of names is the same after a restart, whether there is
// such a user or not, and of the same form.
func TestStrangersLearnNoNames(t *testing.T) {
	dir := t.TempDir()
	names := []string{"given", "made", "nobody", "anybody"}
	start := func() (*tester, func()) {
		directory := access.NewDirectory()
		if err := directory.AddConfigured("admin", "given", access.UserSpec{Password: "p", Roles: []access.Role{{Role: "root", Database: "admin"}}}); err != nil {
			t.Fatal(err)
		}
		c, err := mock.New(mock.Config{DBPath: dir})
		if err != nil {
			t.Fatal(err)
		}
		return &tester{T: t, Router: router.New(c, nil, router.WithUsers(directory, true)), Cluster: c}, c.Close
	}
	x, stop := start()
	given := (&routertest.RoleTester{Tester: x}).Login("given", "p", "admin")
	if err := given.Database("admin").RunCommand(t.Context(), d("createUser", "made", "pwd", "p", "roles", bson.A{})).Err(); err != nil {
		t.Fatal(err)
	}
	before := map[string]string{}
	for _, name := range names {
		before[name] = heard(t, x, name)
		_, salts, _ := strings.Cut(before[name], "] ")
		if _, ofUser, _ := strings.Cut(before["given"], "] "); len(salts) != len(ofUser) || salts == ofUser && name != "given" {
			t.Errorf("of %s: %s; of a user: %s", name, before[name], before["given"])
		}
	}
	stop()
	x, stop = start()
	defer stop()
	for _, name := range names {
		if after := heard(t, x, name); after != before[name] {
			t.Errorf("of %s before: %s, after a restart: %s", name, before[name], after)
		}
	}
}

// Each of the mechanisms' lists that a user may have, some unknown name has too.
func TestUnknownNamesHaveAnyMechanisms(t *testing.T) {
	x := routertest.NewWithAuth(t)
	lists := map[string]int{}
	for i := range 500 {
		lists[fmt.Sprint(x.OK("admin", d("hello", 1, "saslSupportedMechs", fmt.Sprint("admin.u", i))).Lookup("saslSupportedMechs"))]++
	}
	both := lists[`["SCRAM-SHA-1","SCRAM-SHA-256"]`]
	if len(lists) != 3 || both < 350 || both > 490 {
		t.Errorf("mechanisms of unknown names: %v", lists)
	}
}
