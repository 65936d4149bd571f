package access_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/xdg-go/scram"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mongoerr"
)

func create(t *testing.T, d *access.Directory, name, password string, mechanisms ...access.Mechanism) {
	t.Helper()
	if err := d.Create("admin", name, access.UserSpec{Password: password, Mechanisms: mechanisms}); err != nil {
		t.Fatal(err)
	}
}

// authenticate plays a driver's part.
func authenticate(t *testing.T, d *access.Directory, m access.Mechanism, client *scram.Client,
	skipEmpty bool) (*access.User, error) {
	t.Helper()
	server, err := d.BeginConversation(m, "admin", skipEmpty)
	if err != nil {
		t.Fatal(err)
	}
	peer := client.NewConversation()
	answer := ""
	for range 5 {
		message, err := peer.Step(answer)
		if err != nil {
			t.Fatalf("the client does not accept %q: %v", answer, err)
		}
		reply, done, err := server.Step([]byte(message))
		if err != nil {
			return server.User(), err
		}
		if done {
			if len(reply) > 0 { // the server's proof
				if _, err := peer.Step(string(reply)); err != nil || !peer.Valid() {
					t.Fatalf("the client does not believe the server: %v", err)
				}
			}
			return server.User(), nil
		}
		if server.User() != nil {
			t.Fatal("there is a user before the end")
		}
		answer = string(reply)
	}
	t.Fatal("no end")
	return nil, nil
}

func sha256Client(t *testing.T, name, password string) *scram.Client {
	t.Helper()
	c, err := scram.SHA256.NewClient(name, password, "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAuthentication(t *testing.T) {
	d := access.NewDirectory()
	create(t, d, "both", "secret")
	create(t, d, "a,b=c", "I\u00adX") // SASLprep takes the soft hyphen away
	create(t, d, "old", "secret", access.SHA1)
	sha1, err := scram.SHA1.NewClientUnprepped("both", "c6cee6fa92fe861d46b62942953463f8", "") // md5 of both:mongo:secret
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		mechanism access.Mechanism
		client    *scram.Client
		user      string // empty: refused
	}{
		{"SHA-256", access.SHA256, sha256Client(t, "both", "secret"), "both"},
		{"SHA-1", access.SHA1, sha1, "both"},
		{"a prepared password and a quoted name", access.SHA256, sha256Client(t, "a,b=c", "IX"), "a,b=c"},
		{"a wrong password", access.SHA256, sha256Client(t, "both", "Secret"), ""},
		{"an unknown user", access.SHA256, sha256Client(t, "nobody", "secret"), ""},
		{"a mechanism that the user has not", access.SHA256, sha256Client(t, "old", "secret"), ""},
	} {
		for _, skipEmpty := range []bool{false, true} {
			user, err := authenticate(t, d, tt.mechanism, tt.client, skipEmpty)
			if tt.user == "" {
				if !mongoerr.Is(err, mongoerr.AuthenticationFailed) || user != nil {
					t.Errorf("%s: user %v, error %v", tt.name, user, err)
				}
				continue
			}
			if err != nil || user == nil || user.Name != tt.user {
				t.Errorf("%s: user %v, error %v", tt.name, user, err)
			}
		}
	}
}

// A name that is unknown gets the same salt every time, as a real one does.
func TestUnknownUsersLookLikeOthers(t *testing.T) {
	d := access.NewDirectory()
	salt := func(name string) string {
		c, err := d.BeginConversation(access.SHA256, "admin", false)
		if err != nil {
			t.Fatal(err)
		}
		answer, _, err := c.Step([]byte("n,,n=" + name + ",r=abc"))
		if err != nil {
			t.Fatal(err)
		}
		return string(answer[len(answer)-50:])
	}
	first, again := salt("x"), salt("x")
	if first != again {
		t.Error("the salt of an unknown user changes")
	}
	if first == salt("y") {
		t.Error("unknown users share a salt")
	}
}

func TestBrokenConversations(t *testing.T) {
	d := access.NewDirectory()
	create(t, d, "u", "p")
	if _, err := d.BeginConversation("MONGODB-X509", "admin", false); !mongoerr.Is(err, mongoerr.MechanismUnavailable) {
		t.Errorf("an unknown mechanism: %v", err)
	}
	for _, first := range []string{"", "nonsense", "n,,r=abc", "p=tls-unique,,n=u,r=abc", "n,,n=u=,r=abc"} {
		c, err := d.BeginConversation(access.SHA256, "admin", false)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // it stays failed
			if _, done, err := c.Step([]byte(first)); !mongoerr.Is(err, mongoerr.AuthenticationFailed) || done ||
				c.User() != nil {
				t.Errorf("%q: done %v, error %v", first, done, err)
			}
		}
	}
}

func TestDirectory(t *testing.T) {
	d := access.NewDirectory()
	create(t, d, "u", "p")
	if err := d.Create("admin", "u", access.UserSpec{Password: "q"}); !mongoerr.Is(err, mongoerr.UserExists) {
		t.Errorf("a second of a name: %v", err)
	}
	if err := d.Create("admin", "v", access.UserSpec{Password: "a\x00b"}); !mongoerr.Is(err, mongoerr.BadValue) {
		t.Errorf("a password that can't be prepared: %v", err)
	}
	if err := d.Update("admin", "u", access.UserSpec{Password: "new",
		Mechanisms: []access.Mechanism{access.SHA256}}); err != nil {
		t.Fatal(err)
	}
	if _, err := authenticate(t, d, access.SHA256, sha256Client(t, "u", "new"), true); err != nil {
		t.Errorf("the new password: %v", err)
	}
	if _, err := authenticate(t, d, access.SHA256, sha256Client(t, "u", "p"), true); err == nil {
		t.Error("the old password still works")
	}
	if err := d.Update("admin", "nobody", access.UserSpec{}); !mongoerr.Is(err, mongoerr.UserNotFound) {
		t.Errorf("update of nobody: %v", err)
	}
	if !d.Drop("admin", "u") || d.Drop("admin", "u") || len(d.Users()) != 0 {
		t.Error("a user is dropped once")
	}
}

// A password takes long to derive; what another update changes meanwhile stays.
func TestUpdatesAtOnce(t *testing.T) {
	d := access.NewDirectory()
	create(t, d, "u", "p")
	for round := range 8 {
		data := bson.Raw(bsoncore.NewDocumentBuilder().AppendInt32("round", int32(round)).Build())
		var updates sync.WaitGroup
		for _, spec := range []access.UserSpec{{CustomData: data}, {Password: "new"}} {
			updates.Go(func() {
				if err := d.Update("admin", "u", spec); err != nil {
					t.Error(err)
				}
			})
		}
		updates.Wait()
		if u, _ := d.Find("admin", "u"); !bytes.Equal(u.CustomData, data) {
			t.Fatalf("round %d: an update is lost, the user has %s", round, u.CustomData)
		}
	}
}

// FuzzConversation sends what it likes: nothing may panic or let it in.
func FuzzConversation(f *testing.F) {
	f.Add("n,,n=u,r=abc", "c=biws,r=abc,p=AAAA")
	f.Add("y,,n=u,r=abc,x=1", "")
	f.Add("n,a=u,n=u=2C,r=", "c=biws")
	d := access.NewDirectory()
	if err := d.Create("admin", "u", access.UserSpec{Password: "p"}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		for m := range map[access.Mechanism]bool{access.SHA1: true, access.SHA256: true} {
			c, err := d.BeginConversation(m, "admin", false)
			if err != nil {
				t.Fatal(err)
			}
			for _, message := range []string{first, second, ""} {
				if _, done, _ := c.Step([]byte(message)); done || c.User() != nil {
					t.Fatalf("let in by %q and %q", first, second)
				}
			}
		}
	})
}
