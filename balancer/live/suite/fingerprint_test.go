package suite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/live"
)

// fingerprint is what there is on a cluster, by what it is of. Histories, such as
// the changelog, and what routers write about themselves are not part of it.
type fingerprint map[string]string

// differences lists what is not the same in both.
func (f fingerprint) differences(now fingerprint) (lines []string) {
	both := maps.Clone(f)
	maps.Copy(both, now)
	for _, what := range slices.Sorted(maps.Keys(both)) {
		if f[what] != now[what] {
			lines = append(lines, fmt.Sprintf("%s\n   was %s\n   is  %s", what, f[what], now[what]))
		}
	}
	return lines
}

// isServers reports whether a collection is one that the servers keep for themselves.
func isServers(ns string) bool { return strings.HasPrefix(ns, "config.system.") }

// fingerprintOf reads a cluster.
func fingerprintOf(t testing.TB, client *mongo.Client) fingerprint {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f := fingerprint{}
	config := client.Database("config")
	for _, name := range []string{"settings", "databases", "collections", "shards", "tags"} {
		for _, doc := range documents(ctx, t, config.Collection(name)) {
			f.add(name, doc)
		}
	}
	f.addChunks(ctx, t, config)
	f.addData(ctx, t, client)
	f.addUsers(ctx, t, client)
	for _, doc := range documents(ctx, t, live.LeaseCollectionOf(client)) {
		f.add("lease", doc)
	}
	return f
}

// unstable are fields that say when, or of which incarnation.
func unstable(key string) bool { return key == "topologyTime" }

// add notes a document of config. One of a collection that was dropped is a memory
// of releases before 5.0.
func (f fingerprint) add(what string, doc bson.D) {
	var id any
	kept := bson.D{}
	for _, e := range doc {
		tags, isList := e.Value.(bson.A)
		switch {
		case e.Key == "dropped" && e.Value == true:
			return
		case e.Key == "_id":
			id = e.Value
		case unstable(e.Key), e.Key == "tags" && isList && len(tags) == 0:
			continue
		}
		kept = append(kept, e)
	}
	if ns, ok := id.(string); ok && isServers(ns) {
		return
	}
	f[fmt.Sprintf("%s: %v", what, id)] = text(kept)
}

// addChunks notes the chunks of all collections as one number.
func (f fingerprint) addChunks(ctx context.Context, t testing.TB, config *mongo.Database) {
	// Before the collections: the sessions collection may be sharded between both reads.
	chunks := documents(ctx, t, config.Collection("chunks"))
	servers := map[string]bool{}
	for _, doc := range documents(ctx, t, config.Collection("collections")) {
		if ns, _ := at(doc, "_id").(string); isServers(ns) {
			servers[ns], servers[fmt.Sprint(at(doc, "uuid"))] = true, true
		}
	}
	sum, n := sha256.New(), 0
	for _, doc := range chunks {
		if servers[fmt.Sprint(at(doc, "ns"))] || servers[fmt.Sprint(at(doc, "uuid"))] {
			continue
		}
		n++
		fmt.Fprintln(sum, text(doc))
	}
	f["chunks"] = fmt.Sprintf("%d chunks, %x", n, sum.Sum(nil)[:8])
}

// addData notes databases, collections and how many documents they have.
func (f fingerprint) addData(ctx context.Context, t testing.TB, client *mongo.Client) {
	names, err := client.ListDatabaseNames(ctx, bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range names {
		if db == "config" || db == "local" {
			continue
		}
		f["database: "+db] = "is there"
		collections, err := client.Database(db).ListCollectionNames(ctx, bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range collections {
			n, err := client.Database(db).Collection(c).EstimatedDocumentCount(ctx)
			f["collection: "+db+"."+c] = fmt.Sprint(n, " documents ", err)
		}
	}
}

// addUsers notes users and roles, if we may see them.
func (f fingerprint) addUsers(ctx context.Context, t testing.TB, client *mongo.Client) {
	t.Helper()
	for command, list := range map[string]string{"usersInfo": "users", "rolesInfo": "roles"} {
		var reply bson.D
		err := client.Database("admin").RunCommand(ctx, bson.D{{Key: command, Value: 1}}).Decode(&reply)
		if err != nil {
			f[list] = "can't be seen"
			continue
		}
		f[list] = fmt.Sprint(at(reply, list))
	}
}

// documents returns all of a collection, in the order of their ids.
func documents(ctx context.Context, t testing.TB, c *mongo.Collection) (all []bson.D) {
	t.Helper()
	cursor, err := c.Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
	if err == nil {
		err = cursor.All(ctx, &all)
	}
	if err != nil {
		t.Fatalf("%s: %v", c.Name(), err)
	}
	return all
}

func at(doc bson.D, key string) any {
	for _, e := range doc {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

func text(v any) string {
	json, err := bson.MarshalExtJSON(v, false, false)
	if err != nil {
		return err.Error()
	}
	return string(json)
}
