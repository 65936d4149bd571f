package live

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

func (o *overview) shards() error {
	docs, err := o.find("shards", bson.D{}, sortedBy("_id", 1))
	o.parts.Config["shards"] = docs
	for _, doc := range docs {
		o.parts.Shards = append(o.parts.Shards, catalog.ShardState{Shard: shard(doc)})
	}
	return err
}

// shard reads a document of config.shards; one that does not parse tells as much
// as an overview needs.
func shard(doc bson.Raw) catalog.Shard {
	s, err := catalog.ParseShard(doc)
	if err == nil {
		return s
	}
	return catalog.Shard{
		ID: catalog.ShardID(text(doc, "_id")), Host: text(doc, "host"),
		Draining: isSet(doc.Lookup("draining")), Zones: texts(doc, "tags"),
	}
}

// configShard is the shard that the config servers are, if they are one. It is
// asked for by a command of its own (rules/03-commands §1.5).
const configShard = "config"

// drains asks for the state of the shards that drain, or of the one that the Look
// names. Before 8.3 there is no command that only asks.
func (o *overview) drains() error {
	if !o.Release.AtLeast(catalog.Release83) {
		return nil
	}
	for i := range o.parts.Shards {
		s := &o.parts.Shards[i]
		if o.Shard == "" && !s.Draining || o.Shard != "" && o.Shard != s.ID {
			continue
		}
		reply, err := o.commands.RunCommand(o.ctx, "admin", DrainStatusCommand(s.ID))
		if err != nil {
			return err
		}
		s.Reported = reportedDrain(reply)
	}
	return nil
}

func reportedDrain(reply bson.Raw) *catalog.ReportedDrain {
	r := &catalog.ReportedDrain{
		State: text(reply, "state"), Chunks: -1,
		Databases: texts(reply, "dbsToMove"), Collections: texts(reply, "collectionsToMove"),
	}
	if remaining, ok := reply.Lookup("remaining").DocumentOK(); ok {
		r.Chunks, r.Jumbo = integer(remaining, "chunks"), integer(remaining, "jumboChunks")
	}
	return r
}

// reach finds the shards of which the router knows no primary.
func (o *overview) reach() error {
	reply, err := o.commands.RunCommand(o.ctx, "admin", bson.D{{Key: "connPoolStats", Value: int32(1)}})
	if err != nil {
		return o.lenient(catalog.Gap{What: "reach"}, err)
	}
	reachable(o.parts.Shards, reply)
	return nil
}

// reachable notes which shards a router has no way to, and how long the others
// take to answer it, by its connPoolStats.
func reachable(shards []catalog.ShardState, stats bson.Raw) {
	for i := range shards {
		shards[i].Unreachable, shards[i].Ping = unreachable(stats, shards[i].Host)
	}
}

// unreachable says why a router has no way to a shard; empty when it has one, or
// never tried: it watches replica sets that it has used.
func unreachable(stats bson.Raw, host string) (problem string, ping time.Duration) {
	set, _, named := strings.Cut(host, "/")
	members, ok := stats.Lookup("replicaSets", set, "hosts").ArrayOK()
	values, err := members.Values()
	if !named || !ok || err != nil || len(values) == 0 {
		return "", 0
	}
	answering := 0
	for _, v := range values {
		member, _ := v.DocumentOK()
		if !isSet(member.Lookup("ok")) {
			continue
		}
		if answering++; isSet(member.Lookup("ismaster")) {
			return "", time.Duration(integer(member, "pingTimeMillis")) * time.Millisecond
		}
	}
	if answering > 0 {
		return "its replica set " + set + " has no primary", 0
	}
	return "the router gets no answer from any member of its replica set " + set, 0
}
