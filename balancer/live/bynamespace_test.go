package live_test

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

// byNamespace shows the mock's config as releases before 5.0 have it: entries of
// collections have no timestamp, and chunks their collection's namespace and
// epoch in place of its uuid (spec 03 §3.4).
type byNamespace struct{ wire.Handler }

// entries are those of collections, as one request found them.
type entries struct{ byUUID, byName map[string]bson.Raw }

func (h byNamespace) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if r.Database != "config" || r.Command != "find" && r.Command != "getMore" {
		return h.Handler.Handle(ctx, r)
	}
	known := h.learn(ctx, r)
	var body bson.D
	if bson.Unmarshal(r.Body, &body) != nil {
		return h.Handler.Handle(ctx, r)
	}
	for i, field := range body {
		filter, isDoc := field.Value.(bson.D)
		if field.Key != "filter" || !isDoc || r.Command != "find" || body[0].Value != "chunks" {
			continue
		}
		for j, of := range filter {
			name, isText := of.Value.(string)
			if entry, found := known.byName[name]; of.Key == "ns" && isText && found {
				filter[j] = bson.E{Key: "uuid", Value: entry.Lookup("uuid")}
			}
		}
		body[i].Value = filter
	}
	raw, err := bson.Marshal(body)
	if err != nil {
		return h.Handler.Handle(ctx, r)
	}
	r.Body = raw
	return known.translate(h.Handler.Handle(ctx, r))
}

// learn reads the entries of collections.
func (h byNamespace) learn(ctx context.Context, r wire.Request) (known entries) {
	ask, err := bson.Marshal(bson.D{{Key: "find", Value: "collections"}, {Key: "$db", Value: "config"}})
	if err != nil {
		return known
	}
	reply := h.Handler.Handle(ctx, wire.Request{Database: "config", Command: "find", Body: ask, Client: r.Client})
	docs, _ := reply.Lookup("cursor", "firstBatch").ArrayOK()
	values, err := docs.Values()
	if err != nil {
		return known
	}
	known = entries{byUUID: map[string]bson.Raw{}, byName: map[string]bson.Raw{}}
	for _, v := range values {
		entry := v.Document()
		known.byUUID[entry.Lookup("uuid").String()] = entry
		known.byName[entry.Lookup("_id").StringValue()] = entry
	}
	return known
}

// translate rewrites the documents of a reply.
func (known entries) translate(reply bson.Raw) bson.Raw {
	var whole bson.D
	if bson.Unmarshal(reply, &whole) != nil {
		return reply
	}
	for _, field := range whole {
		cursor, isDoc := field.Value.(bson.D)
		if field.Key != "cursor" || !isDoc {
			continue
		}
		for i := range cursor {
			batch, isArray := cursor[i].Value.(bson.A)
			if !isArray {
				continue
			}
			for j := range batch {
				batch[j] = known.old(reply.Lookup("cursor", "ns").StringValue(), batch[j].(bson.D))
			}
		}
	}
	raw, err := bson.Marshal(whole)
	if err != nil {
		return reply
	}
	return raw
}

func (known entries) old(ns string, doc bson.D) bson.D {
	var next bson.D
	for _, f := range doc {
		switch {
		case ns == "config.collections" && f.Key == "timestamp":
		case ns == "config.chunks" && f.Key == "uuid":
			next = append(next, bson.E{Key: "ns", Value: known.of(f.Value).Lookup("_id")})
		case ns == "config.chunks" && f.Key == "lastmod":
			next = append(next, f)
			next = append(next, bson.E{Key: "lastmodEpoch", Value: known.of(field(doc, "uuid")).Lookup("lastmodEpoch")})
		default:
			next = append(next, f)
		}
	}
	return next
}

func field(doc bson.D, name string) any {
	for _, f := range doc {
		if f.Key == name {
			return f.Value
		}
	}
	return nil
}

// of returns the entry of the collection with a uuid.
func (known entries) of(uuid any) bson.Raw {
	raw, err := bson.Marshal(bson.D{{Key: "u", Value: uuid}})
	if err != nil {
		return nil
	}
	return known.byUUID[bson.Raw(raw).Lookup("u").String()]
}
