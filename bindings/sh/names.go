package sh

import (
	"maps"
	"slices"
	"strings"

	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// A name that nothing has is an error wherever a helper takes one, with the name that
// was probably meant: by the helper itself, by the server, whose error gets the
// question, or, where the server is content, by a warning.

// nameKind is what a name is of.
type nameKind int

const (
	shardName nameKind = iota + 1
	zoneName
	databaseName
	namespaceName
)

// nameKinds returns what the parameters of helpers name.
func nameKinds() map[string]nameKind {
	return map[string]nameKind{
		"shard": shardName, "toShard": shardName, "to": shardName, "primaryShard": shardName,
		"zone": zoneName, "database": databaseName,
		"ns": namespaceName, "collection": namespaceName, "nsOrMB": namespaceName,
	}
}

// namesOfKind lists those that exist; like is the name they are to be compared with.
// What can't be read is missing: the list is for suggestions.
func (sh *Helpers) namesOfKind(kind nameKind, like string) []string {
	switch kind {
	case shardName:
		return sh.configIDs("shards")
	case zoneName:
		return sh.zoneNames()
	case databaseName:
		return sh.listNames("admin", "listDatabases", "databases")
	case namespaceName:
		database, _, _ := strings.Cut(like, ".")
		list := sh.configIDs("collections")
		for _, name := range sh.listNames(database, "listCollections", "cursor", "firstBatch") {
			list = append(list, database+"."+name)
		}
		return list
	}
	return nil
}

func (sh *Helpers) configIDs(collection string) []string {
	docs, err := sh.host.Gateway.TryReadAll(sh.config().Request(bson.D{{Key: "find", Value: collection},
		{Key: "filter", Value: bson.D{NotDropped}},
		{Key: "projection", Value: bson.D{{Key: "_id", Value: int32(1)}}}}, server.Reads))
	if err != nil {
		return nil
	}
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = rawdoc.Text(doc, "_id")
	}
	return ids
}

// listNames returns the names a command answers with.
func (sh *Helpers) listNames(database, command string, path ...string) (names []string) {
	reply, err := sh.host.Gateway.Send(sh.current().Sibling(database).Request(
		server.Command(command, bson.E{Key: "nameOnly", Value: true}), server.Reads))
	if err != nil {
		return nil
	}
	list, _ := reply.Lookup(path...).ArrayOK()
	values, _ := list.Values()
	for _, v := range values {
		doc, _ := v.DocumentOK()
		names = append(names, rawdoc.Text(doc, "name"))
	}
	return names
}

// zoneNames lists the zones that shards belong to or that have ranges.
func (sh *Helpers) zoneNames() []string {
	known := map[string]bool{}
	for collection, key := range map[string]string{"shards": "tags", "tags": "tag"} {
		reply, err := sh.host.Gateway.Send(sh.config().Request(
			bson.D{{Key: "distinct", Value: collection}, {Key: "key", Value: key}}, server.Reads))
		if err != nil {
			continue
		}
		list, _ := reply.Lookup("values").ArrayOK()
		values, _ := list.Values()
		for _, v := range values {
			if name, ok := v.StringValueOK(); ok {
				known[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// didYouMean returns "; did you mean NAME?"; empty if no name is near,
// or the name exists.
func (sh *Helpers) didYouMean(kind nameKind, name string) string {
	list := sh.namesOfKind(kind, name)
	if slices.Contains(list, name) {
		return ""
	}
	if kind == namespaceName {
		list = slices.DeleteFunc(list, func(other string) bool { return !areBothNear(name, other) })
	}
	return plaintext.DidYouMean(name, list)
}

// areBothNear reports whether databases and collections of two namespaces are near
// each other: much in common at the beginning of a name means little.
func areBothNear(a, b string) bool {
	aDatabase, aName, _ := strings.Cut(a, ".")
	bDatabase, bName, _ := strings.Cut(b, ".")
	return plaintext.Nearest(aDatabase, []string{bDatabase}) != "" && plaintext.Nearest(aName, []string{bName}) != ""
}

// throwNoShard throws for a shard that is not there.
func (sh *Helpers) throwNoShard(id string) {
	sh.host.JS.ThrowInvalid("There is no shard %s (sh.listShards() lists them)%s", id, sh.didYouMean(shardName, id))
}

// checkZoneExists throws for a zone that is not there.
func (sh *Helpers) checkZoneExists(zone string) {
	if zones := sh.zoneNames(); !slices.Contains(zones, zone) {
		sh.host.JS.ThrowInvalid("There is no zone %s (sh.zones() lists them)%s", zone, plaintext.DidYouMean(zone, zones))
	}
}

// throwNotSharded throws for a collection that is not in the catalog.
func (sh *Helpers) throwNotSharded(ns string) {
	sh.host.JS.ThrowCoded(script.InvalidInput, script.CodeNotSharded, "Collection %s is not sharded%s", ns,
		sh.didYouMean(namespaceName, ns))
}

// withSuggestions wraps a helper: to a server error about a name that does not exist
// it adds a suggestion, and to an authorization error the
// role that may run it.
func withSuggestions(m helper) func(*call, *Helpers) goja.Value {
	f, params := m.call, script.ParameterNames(m.signature)
	if slices.Contains([]string{"enableSharding", "shardCollection", "shardAndDistributeCollection"}, m.name) {
		params[0] = "" // they make what their first argument names
	}
	return func(c *call, sh *Helpers) (v goja.Value) {
		ex := c.JS.Runtime.Try(func() { v = f(c, sh) })
		if ex == nil {
			return v
		}
		e, _ := ex.Value().(*goja.Object)
		switch code := script.Property(e, "code"); {
		case code == nil || !goja.IsNumber(code):
		case code.ToInteger() == int64(mongoerr.Unauthorized):
			script.Define(e, "message", c.JS.Runtime.ToValue(live.ShortenUnauthorized(script.OptionalText(e.Get("message")))))
		default:
			c.addSuggestion(sh, e, params, code.ToInteger())
		}
		panic(ex)
	}
}

// addSuggestion puts the question "Did you mean …?" into an error's message, which has to be about the
// name: moveChunk's says only by its code that it is about a shard.
func (c *call) addSuggestion(sh *Helpers, e *goja.Object, params []string, code int64) {
	message := script.OptionalText(e.Get("message"))
	for i, param := range params {
		kind := nameKinds()[param]
		if kind == 0 || !c.Has(i) || !goja.IsString(c.Arg(i)) && !isCollection(c.Arg(i)) {
			continue
		}
		name := c.namespaceArgument(i)
		switch {
		case strings.Contains(message, name):
		case kind == shardName && code == int64(mongoerr.ShardNotFound):
			message += ": " + name
		default:
			continue
		}
		if question := sh.didYouMean(kind, name); question != "" {
			script.Define(e, "message", c.JS.Runtime.ToValue(strings.TrimSuffix(message, ".")+question))
			return
		}
	}
}

// warnNothingChanged warns if a server accepts an unknown name without a
// word.
func (sh *Helpers) warnNothingChanged(what string, kind nameKind, name string) {
	sh.host.JS.Out.Warn("Warning: " + what + ": no change" + sh.didYouMean(kind, name))
}
