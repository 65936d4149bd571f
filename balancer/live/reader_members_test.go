package live_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
)

const membersTopology = `{"shards": [{"id": "a", "host": "a/a1:1,a2:1,a3:1"}, {"id": "b", "host": "b/b1:1"}]}`

// withMembers is a mock whose members are reached in memory, but for some.
func withMembers(t *testing.T, version string, away ...string) (
	*live.Reader, func(doc bson.D), *catalog.Snapshot) {
	t.Helper()
	r, err := catalog.ParseRelease(version)
	if err != nil {
		t.Fatal(err)
	}
	cluster := mocktest.Cluster(t, membersTopology, mock.Config{Release: r})
	rs, err := router.NewRouters(router.New(cluster, nil), 1)
	if err != nil {
		t.Fatal(err)
	}
	var settings *options.ClientOptions
	client := mocktest.Connect(t, rs, func(o *options.ClientOptions) {
		settings = options.Client().SetDialer(cut{o.Dialer, away})
	})
	reader := live.NewReader(client, live.ReaderOptions{MemberClientOptions: settings})
	do := func(doc bson.D) {
		if err := client.Database("admin").RunCommand(t.Context(), doc).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := reader.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return reader, do, s
}

// cut is a dialer to which some addresses never answer, as behind a firewall.
type cut struct {
	options.ContextDialer
	away []string
}

func (c cut) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	for _, away := range c.away {
		if address == away {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	return c.ContextDialer.DialContext(ctx, network, address)
}

func versionsIn(s *catalog.Snapshot) string {
	var list []string
	for _, m := range s.Parts().Members {
		text := m.Host + " " + m.Version + " " + m.FCV
		if m.Primary {
			text += " primary"
		}
		list = append(list, text)
	}
	return strings.Join(list, "\n")
}

// A stepwise upgrade: secondaries first, then the config servers, whose version decides.
func TestMemberVersions(t *testing.T) {
	reader, do, s := withMembers(t, "8.2.5")
	want := `a1:1 8.2.5 8.2 primary
a2:1 8.2.5 8.2
a3:1 8.2.5 8.2
b1:1 8.2.5 8.2 primary
mock:27019 8.2.5 8.2 primary`
	if got := versionsIn(s); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	if s.Release().DonorBelongsToZone() || s.Parts().ConfigVersion != "8.2.5" {
		t.Errorf("release %s of %s", s.Release(), s.Parts().ConfigVersion)
	}
	install := func(to bson.E, version string) {
		do(bson.D{e("mockInstall", 1), to, e("version", version)})
	}
	install(e("member", "a2:1"), "8.2.6")
	install(e("shard", "b"), "8.2.9")
	install(e("configServers", true), "8.2.6")
	s, err := reader.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want = `a1:1 8.2.5 8.2 primary
a2:1 8.2.6 8.2
a3:1 8.2.5 8.2
b1:1 8.2.9 8.2 primary
mock:27019 8.2.6 8.2 primary`
	if got := versionsIn(s); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
	a, _ := s.Shard("a")
	b, _ := s.Shard("b")
	if p := s.Parts(); p.Version != "8.2.5" || p.Release.String() != "8.2.6" || !p.Settings.Release.DonorBelongsToZone() ||
		a.Version != "8.2.5" || b.Version != "8.2.9" {
		t.Errorf("router %s, rounds %s, shards %s and %s", p.Version, p.Release, a.Version, b.Version)
	}
}

// What does not answer costs a second at most, and is not an error.
func TestMembersAway(t *testing.T) {
	began := time.Now()
	_, _, s := withMembers(t, "8.0.20", "a1:1", "mock:27019")
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("it took %s", took)
	}
	if got := s.Parts().Source.Gaps; len(got) > 0 {
		t.Errorf("gaps %+v", got)
	}
	for _, m := range s.Parts().Members {
		away := m.Host == "a1:1" || m.Host == "mock:27019"
		if away != (m.Version == "") || away != (m.Problem != "") {
			t.Errorf("%+v", m)
		}
	}
	a, _ := s.Shard("a")
	if a.Version != "8.0.20" || s.Parts().ConfigVersion != "" || s.Release().String() != "8.0.20" {
		t.Errorf("shard %s, config servers %q, rounds %s", a.Version, s.Parts().ConfigVersion, s.Release())
	}
}
