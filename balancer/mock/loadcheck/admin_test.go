//go:build unix

package loadcheck

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// admin runs administration commands, whatever others do meanwhile.
type admin struct {
	*load
	chance *rand.Rand
	hosts  map[string]string // of shards that were there once
}

func newAdmin(l *load, number int) *admin {
	return &admin{l, l.chance(uint64(300 + number)), map[string]string{}}
}

// order is a kind of command, and how often it comes.
type order struct {
	often int
	make  maker
}

func (a *admin) step(ctx context.Context) {
	all := orders()
	sum := 0
	for _, o := range all {
		sum += o.often
	}
	n := a.chance.IntN(sum)
	for _, o := range all {
		if n -= o.often; n < 0 {
			a.do(ctx, o)
			return
		}
	}
}

func (a *admin) do(ctx context.Context, o order) {
	db, command := o.make(a, ctx)
	if command == nil {
		return // there is nothing to do it to
	}
	if a.chance.IntN(4) == 0 {
		command = append(command, bson.E{Key: "maxTimeMS", Value: int64(1 + a.chance.IntN(2000))})
	}
	a.does(ctx, "%v", command)
	a.result("admin: "+command[0].Key, a.client.Database(db).RunCommand(ctx, command).Err())
}

// cmd is a command on admin.
func cmd(pairs ...any) (string, bson.D) {
	command := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		command = append(command, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return "admin", command
}

func (a *admin) one(of ...string) string { return of[a.chance.IntN(len(of))] }

func (a *admin) yes() bool { return a.chance.IntN(2) == 0 }

func (a *admin) shard() string { return fmt.Sprintf("shard%d", a.chance.IntN(shards)) }

func (a *admin) bound() int64 { return a.chance.Int64N(2*keys+1) - keys }

// namespace is one of the collections that are written to all the time, or of
// those that come and go.
func (a *admin) namespace() string {
	if a.chance.IntN(4) == 0 {
		return fmt.Sprintf("roam%d.%s", a.chance.IntN(2), a.one(roamNames()...))
	}
	list := namespaceList()
	return list[a.chance.IntN(len(list))]
}

// key is a shard key that documents have what it takes for.
func (a *admin) key() bson.D {
	keys := []bson.D{
		{{Key: "k", Value: 1}}, {{Key: "k", Value: "hashed"}}, {{Key: "_id", Value: "hashed"}}, {{Key: "_id", Value: 1}},
		{{Key: "k", Value: 1}, {Key: "j", Value: 1}}, {{Key: "j", Value: 1}},
		{{Key: "j", Value: 1}, {Key: "k", Value: "hashed"}},
	}
	return keys[a.chance.IntN(len(keys))]
}

// chunk is a chunk of a collection as it is now, and the one after it.
type chunk struct {
	Min, Max bson.Raw
	Shard    string
	next     bson.Raw // upper bound of the next
}

var errNone = errors.New("there is none")

// chunkOf picks a chunk of a collection.
func (a *admin) chunkOf(ctx context.Context, ns string) (chunk, error) {
	config := a.client.Database("config")
	var coll struct{ UUID bson.Binary }
	if err := config.Collection("collections").FindOne(ctx, bson.M{"_id": ns}).Decode(&coll); err != nil {
		return chunk{}, err
	}
	cursor, err := config.Collection("chunks").Find(ctx, bson.M{"uuid": coll.UUID},
		options.Find().SetSort(bson.M{"min": 1}))
	if err != nil {
		return chunk{}, err
	}
	var all []chunk
	if err := cursor.All(ctx, &all); err != nil {
		return chunk{}, err
	}
	if len(all) == 0 {
		return chunk{}, errNone
	}
	i := a.chance.IntN(len(all))
	c := all[i]
	c.next = all[min(i+1, len(all)-1)].Max
	return c, nil
}

// host is where a shard was found once, or an empty text.
func (a *admin) host(ctx context.Context, name string) string {
	var doc struct{ Shards []bson.Raw }
	if err := a.client.Database("admin").RunCommand(ctx, bson.D{{Key: "listShards", Value: 1}}).Decode(&doc); err != nil {
		return a.hosts[name]
	}
	for _, s := range doc.Shards {
		a.hosts[s.Lookup("_id").StringValue()] = s.Lookup("host").StringValue()
	}
	return a.hosts[name]
}

func database(ns string) string {
	db, _, _ := strings.Cut(ns, ".")
	return db
}

func name(ns string) string {
	_, name, _ := strings.Cut(ns, ".")
	return name
}

// consistency runs checkMetadataConsistency: whatever is under way, the
// metadata hold.
func consistency(ctx context.Context, c *mongo.Client) ([]string, error) {
	cursor, err := c.Database("admin").RunCommandCursor(ctx, bson.D{
		{Key: "checkMetadataConsistency", Value: 1}, {Key: "checkIndexes", Value: true},
	})
	if err != nil {
		return nil, err
	}
	defer cursor.Close(ctx)
	var found []string
	for cursor.Next(ctx) {
		found = append(found, cursor.Current.String())
	}
	return found, cursor.Err()
}
