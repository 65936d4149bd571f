package suite

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"

	"shardsh/balancer/live"
	"shardsh/balancer/live/suite/recorded"
)

// database is the suite's own.
const database = "shardsh_suite"

// ours are the databases that the suite makes and drops.
func ours() []string { return append([]string{database}, recorded.Databases()...) }

// target is the cluster that is tested.
type target struct {
	t       testing.TB
	uri     string
	client  *mongo.Client
	version string
	mock    bool
	// alone: there are no sharded collections of others, whose data the balancer
	// would move.
	alone  bool
	shards []string
	zones  map[string][]string // of each shard
	before fingerprint
	set    []bson.D // config.settings as it was
}

// aim looks at a cluster, and refuses one that has what the suite would make.
func aim(t testing.TB, uri string) *target {
	t.Helper()
	c := &target{t: t, uri: uri, client: connect(t, uri)}
	c.version = c.ask("buildInfo", 1).Lookup("version").StringValue()
	c.mock = c.client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "mockStatus", Value: 1}}).Err() == nil
	config := c.client.Database("config")
	c.zones = zonesOf(t, c.client)
	c.shards = slices.Sorted(maps.Keys(c.zones))
	if len(c.shards) < 3 {
		t.Fatalf("the suite needs three shards; %s has %d", clean(uri), len(c.shards))
	}
	names, err := c.client.ListDatabaseNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if slices.Contains(ours(), name) {
			t.Fatalf("%s has a database %q, which the suite would use; nothing was done", clean(uri), name)
		}
	}
	c.before = fingerprintOf(t, c.client)
	c.set = documents(t.Context(), t, config.Collection("settings"))
	c.alone = true
	for what := range c.before {
		c.alone = c.alone && !strings.HasPrefix(what, "collections: ")
	}
	t.Logf("MongoDB %s with shards %v; the suite makes and drops the databases %v, changes settings of the "+
		"balancer and zones of the shards, and puts them back", c.version, c.shards, ours())
	return c
}

// connect opens a client. Its monitor polls: a streaming one now and then takes ten
// seconds to notice that its client is done.
func connect(t testing.TB, uri string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri).
		SetServerMonitoringMode(connstring.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

// clean is an address without a password.
func clean(uri string) string {
	scheme, rest, found := strings.Cut(uri, "://")
	if !found {
		scheme, rest = "mongodb", uri
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	return scheme + "://" + rest
}

// ask sends a command to admin, which must be answered well.
func (c *target) ask(pairs ...any) bson.Raw {
	c.t.Helper()
	command := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		command = append(command, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	reply, err := c.client.Database("admin").RunCommand(context.Background(), command).Raw()
	if err != nil {
		c.t.Fatalf("%v: %v", text(command), err)
	}
	return reply
}

// zonesOf returns the zones of each shard.
func zonesOf(t testing.TB, client *mongo.Client) map[string][]string {
	t.Helper()
	zones := map[string][]string{}
	for _, doc := range documents(context.Background(), t, client.Database("config").Collection("shards")) {
		shard := at(doc, "_id").(string)
		zones[shard] = nil
		tags, _ := at(doc, "tags").(bson.A)
		for _, tag := range tags {
			zones[shard] = append(zones[shard], tag.(string))
		}
	}
	return zones
}

// restoreZones makes shards members of the zones that they were in.
func (c *target) restoreZones() {
	c.t.Helper()
	for shard, now := range zonesOf(c.t, c.client) {
		for _, zone := range now {
			if !slices.Contains(c.zones[shard], zone) {
				c.ask("removeShardFromZone", shard, "zone", zone)
			}
		}
		for _, zone := range c.zones[shard] {
			if !slices.Contains(now, zone) {
				c.ask("addShardToZone", shard, "zone", zone)
			}
		}
	}
}

// restore takes away what the suite made, and puts settings back.
func (c *target) restore() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	drop := ours()
	if _, had := c.before["database: "+live.LeaseDatabase]; !had {
		drop = append(drop, live.LeaseDatabase)
	}
	for _, name := range drop {
		if err := c.client.Database(name).Drop(ctx); err != nil {
			c.t.Errorf("dropping %s: %v", name, err)
		}
	}
	c.restoreZones()
	settings := c.client.Database("config").Collection("settings")
	keep := bson.A{}
	for _, doc := range c.set {
		keep = append(keep, at(doc, "_id"))
		which := bson.D{{Key: "_id", Value: at(doc, "_id")}}
		if _, err := settings.ReplaceOne(ctx, which, doc, options.Replace().SetUpsert(true)); err != nil {
			c.t.Errorf("putting back the setting %v: %v", at(doc, "_id"), err)
		}
	}
	others := bson.D{{Key: "_id", Value: bson.D{{Key: "$nin", Value: keep}}}}
	if _, err := settings.DeleteMany(ctx, others); err != nil {
		c.t.Errorf("taking settings away: %v", err)
	}
}

// leavesNothing compares the cluster with what it was.
func (c *target) leavesNothing() {
	c.t.Helper()
	for _, line := range c.before.differences(fingerprintOf(c.t, c.client)) {
		c.t.Errorf("left behind: %s", line)
	}
}

// given is the address of a cluster that was named, or empty.
func given() string { return os.Getenv("SHARDSH_LIVE_URI") }

// address is host:port of the first router.
func (c *target) address() string {
	_, rest, _ := strings.Cut(clean(c.uri), "://")
	hosts, _, _ := strings.Cut(rest, "/")
	first, _, _ := strings.Cut(hosts, ",")
	return first
}
