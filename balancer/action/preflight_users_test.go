package action

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
)

// engine is what scripts/roles.js gives shardshEngine, and what that role has of others.
func engine() []access.Privilege {
	anyCollection, anyBuckets := access.DatabaseResource(""), access.BucketsResource("")
	sessions, leases := access.CollectionResource("config", "system.sessions"), access.CollectionResource("shardsh", "leases")
	return []access.Privilege{
		{Resource: access.ClusterResource(), Actions: []access.Action{"connPoolStats", "getParameter", "getShardMap", "hostInfo",
			"inprog", "listDatabases", "listShards", "serverStatus", "shardedDataDistribution", "checkMetadataConsistency",
			"killop", "removeShard", "shardDrainingStatus", "transitionToDedicatedConfigServer"}},
		{Resource: access.DatabaseResource("config"), Actions: []access.Action{"collStats", "dbStats", "find", "indexStats", "listCollections",
			"listIndexes"}},
		{Resource: access.CollectionResource("config", "collections"), Actions: []access.Action{"update"}},
		{Resource: anyCollection, Actions: []access.Action{"collStats", "dbStats", "indexStats", "listCollections", "listIndexes",
			"moveChunk", "splitChunk", "splitVector", "moveCollection"}},
		{Resource: anyBuckets, Actions: []access.Action{"collStats", "indexStats", "moveChunk", "splitChunk", "splitVector",
			"moveCollection"}},
		{Resource: sessions, Actions: []access.Action{"moveChunk", "splitChunk", "splitVector"}},
		{Resource: access.CollectionResource("admin", "system.version"), Actions: []access.Action{"find"}},
		{Resource: leases, Actions: []access.Action{"find", "insert", "remove", "update"}},
	}
}

// asRunner has the cluster ask for logins. Its client is that of somebody who may do all,
// the runner that of a user who has the privileges of the engine but some.
func (w *world) asRunner(h *changing, but *access.Privilege) {
	w.Helper()
	directory := access.NewDirectory()
	root := access.UserSpec{Password: "pw", Roles: []access.Role{{Role: "root", Database: "admin"}, {Role: "__system", Database: "admin"}}}
	if err := directory.Create("admin", "root", root); err != nil {
		w.Fatal(err)
	}
	h.Handler = router.New(w.cluster, nil, router.WithUsers(directory, true))
	as := func(user string) func(*options.ClientOptions) {
		return func(o *options.ClientOptions) {
			o.SetAuth(options.Credential{Username: user, Password: "pw", AuthSource: "admin"})
		}
	}
	w.client = mocktest.Connect(w, h, as("root"))
	var privileges bson.A
	for _, p := range engine() {
		if but.Resource == p.Resource {
			p.Actions = slices.DeleteFunc(p.Actions, func(a access.Action) bool { return slices.Contains(but.Actions, a) })
		}
		if len(p.Actions) > 0 {
			privileges = append(privileges, p.Document())
		}
	}
	w.admin(bson.D{{Key: "createRole", Value: "engine"}, {Key: "privileges", Value: privileges}, {Key: "roles", Value: bson.A{}}})
	w.admin(bson.D{{Key: "createUser", Value: "runner"}, {Key: "pwd", Value: "pw"}, {Key: "roles", Value: bson.A{"engine"}}})
	w.runner = mocktest.Connect(w, h, as("runner"))
}

// waysWithoutPrivileges are those in which a privilege is missing.
func waysWithoutPrivileges() []way {
	whole := Drain{Shard: "s0", Remove: true, MovePrimaries: true}
	pausing := whole
	pausing.PauseBalancing = true
	lacks := func(on access.Resource, actions ...access.Action) *access.Privilege {
		return &access.Privilege{Resource: on, Actions: actions}
	}
	plain := access.DatabaseResource("")
	ways := []way{
		{name: "moveChunk", says: "lacks moveChunk on db.c", lacks: lacks(plain, "moveChunk")},
		{name: "moveChunk of time series", says: "lacks moveChunk on db.system.buckets.ts",
			lacks: lacks(access.BucketsResource(""), "moveChunk"), topology: healthy("", "", "",
				`, {"ns": "db.system.buckets.ts", "key": {"meta": 1}, "chunks": [{"shard": "s0", "max": {"meta": 5}}, {"shard": "s1"}]}`)},
		{name: "moveChunk of sessions", says: "lacks moveChunk on config.system.sessions",
			lacks: lacks(access.CollectionResource("config", "system.sessions"), "moveChunk"), prepare: func(w *world) {
				w.admin(one("refreshLogicalSessionCacheNow", 1))
				w.admin(bson.D{{Key: "moveChunk", Value: "config.system.sessions"}, {Key: "to", Value: "s0"}, {Key: "find", Value: one("_id", 5)}})
			}},
		{name: "splitChunk", says: "lacks splitChunk on db.c", lacks: lacks(plain, "splitChunk"), drain: pausing},
		{name: "splitChunk to cut", says: "lacks splitChunk on db.big", lacks: lacks(plain, "splitChunk"),
			release: catalog.Release50, topology: healthy("", "", "",
				`, {"ns": "db.big", "key": {"x": 1}, "chunkSizeMB": 1, "chunks": [{"shard": "s0", "bytes": 9000000, "docs": 9000}]}`)},
		{name: "removeShard", says: "lacks removeShard on the cluster", lacks: lacks(access.ClusterResource(), "removeShard")},
		{name: "moveCollection", says: "lacks moveCollection on db.u", lacks: lacks(plain, "moveCollection"), prepare: func(w *world) {
			w.insert("db.u", one("_id", 1))
			w.admin(bson.D{{Key: "moveCollection", Value: "db.u"}, {Key: "toShard", Value: "s0"}})
		}},
		{name: "moveChunk of a database", says: "lacks moveChunk on", lacks: lacks(plain, "moveChunk"), topology: strings.Replace(
			healthy("", "", `, {"name": "app", "primary": "s0"}`, ""), `{"shard": "s0"`, `{"shard": "s2"`, 2)},
		{name: "update of config.collections", says: "lacks update on config.collections", drain: pausing,
			release: catalog.Release70, lacks: lacks(access.CollectionResource("config", "collections"), "update")},
		{name: "the lease, to take it", says: "lacks insert on shardsh.leases",
			lacks: lacks(access.CollectionResource("shardsh", "leases"), "insert")},
		{name: "the lease, to renew it", says: "lacks update on shardsh.leases",
			lacks: lacks(access.CollectionResource("shardsh", "leases"), "update")},
	}
	for i := range ways {
		ways[i].code = diagnosis.PrivilegeMissing
		if ways[i].drain.Shard == "" {
			ways[i].drain = whole
		}
	}
	return ways
}

// A refusal of the server names the roles that the user has, besides the one that is needed.
func TestRefusalNamesTheRoles(t *testing.T) {
	w := newWorld(t, crowded(2), catalog.Release80, 1)
	w.asRunner(&changing{}, &access.Privilege{Resource: access.ClusterResource(), Actions: []access.Action{"removeShard"}})
	c := Cluster{Client: w.runner, Clock: w.cluster.Clock()}
	_, err := c.runner().RunCommand(t.Context(), "admin", bson.D{{Key: "removeShard", Value: "s0"}})
	text := live.ShortenUnauthorized(c.withRoles(t.Context(), &NoAnswerError{live.ServerError(err)}).Error())
	if !strings.Contains(text, "grant the role shardshEngine") || !strings.HasSuffix(text, "; the user has engine@admin") {
		t.Error(text)
	}
	other := errors.New("something else")
	if got := c.withRoles(t.Context(), other); got.Error() != other.Error() {
		t.Error(got)
	}
}
