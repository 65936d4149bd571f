package sh

import (
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

// An unknown name is an error in all helpers, with a suggestion for the name that was probably meant.
// The helper reports it, or the suggestion is added to the server's error. If the server accepts the
// name, the helper prints a warning.

// nameKind is the kind of object that a name refers to.
type nameKind int

const (
	shardName nameKind = iota + 1
	zoneName
	databaseName
	namespaceName
)

// nameKinds maps the parameters of helpers to the kinds of their names.
func nameKinds() map[string]nameKind {
	return map[string]nameKind{
		"shard": shardName, "toShard": shardName, "to": shardName, "primaryShard": shardName,
		"zone": zoneName, "database": databaseName,
		"ns": namespaceName, "collection": namespaceName, "nsOrMB": namespaceName,
	}
}

// namesOfKind returns the existing names; like is the name to compare with them. Names that can't be
// read are missing, because the list is only used for suggestions.
func (h *Helpers) namesOfKind(kind nameKind, like string) []string {
	switch kind {
	case shardName:
		return h.configIDs("shards")
	case zoneName:
		return h.zoneNames()
	case databaseName:
		return h.listNames("admin", "listDatabases", "databases")
	case namespaceName:
		database, _, _ := strings.Cut(like, ".")
		list := h.configIDs("collections")
		for _, name := range h.listNames(database, "listCollections", "cursor", "firstBatch") {
			list = append(list, database+"."+name)
		}
		return list
	}
	return nil
}

func (h *Helpers) configIDs(collection string) []string {
	docs, err := h.host.Gateway.TryReadAll(h.config().Request(bson.D{{Key: "find", Value: collection},
		{Key: "filter", Value: bson.D{NotDropped}},
		{Key: "projection", Value: bson.D{{Key: "_id", Value: int32(1)}}}}, server.Repeatable))
	if err != nil {
		return nil
	}
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = rawdoc.Text(doc, "_id")
	}
	return ids
}

// listNames returns the names in the reply of a command.
func (h *Helpers) listNames(database, command string, path ...string) (names []string) {
	reply, err := h.host.Gateway.Send(h.current().Sibling(database).Request(
		server.Command(command, bson.E{Key: "nameOnly", Value: true}), server.Repeatable))
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

// zoneNames returns the zones of shards, and those with ranges.
func (h *Helpers) zoneNames() (names []string) {
	for collection, key := range map[string]string{"shards": "tags", "tags": "tag"} {
		reply, err := h.host.Gateway.Send(h.config().Request(
			bson.D{{Key: "distinct", Value: collection}, {Key: "key", Value: key}}, server.Repeatable))
		if err == nil {
			names = append(names, rawdoc.Texts(reply, "values")...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// didYouMean returns "; did you mean NAME?". It is empty if no name is near, or if the name exists.
func (h *Helpers) didYouMean(kind nameKind, name string) string {
	list := h.namesOfKind(kind, name)
	if slices.Contains(list, name) {
		return ""
	}
	if kind == namespaceName {
		list = slices.DeleteFunc(list, func(other string) bool { return !areNamespacesNear(name, other) })
	}
	return plaintext.DidYouMean(name, list)
}

// areNamespacesNear reports whether both the databases and the collections of two namespaces are similar. A
// common beginning of the namespaces does not mean much.
func areNamespacesNear(a, b string) bool {
	aDatabase, aName, _ := strings.Cut(a, ".")
	bDatabase, bName, _ := strings.Cut(b, ".")
	return plaintext.Nearest(aDatabase, []string{bDatabase}) != "" && plaintext.Nearest(aName, []string{bName}) != ""
}

// throwNoShard throws the error for a missing shard.
func (h *Helpers) throwNoShard(id string) {
	h.host.JS.ThrowInvalid("There is no shard %s (sh.listShards() lists them)%s", id, h.didYouMean(shardName, id))
}

// checkZoneExists throws if a zone does not exist.
func (h *Helpers) checkZoneExists(zone string) {
	if zones := h.zoneNames(); !slices.Contains(zones, zone) {
		h.host.JS.ThrowInvalid("There is no zone %s (sh.zones() lists them)%s", zone, plaintext.DidYouMean(zone, zones))
	}
}

// throwNotSharded throws the error for a collection that is not in the catalog.
func (h *Helpers) throwNotSharded(ns string) {
	h.host.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeNotSharded, "Collection %s is not sharded%s", ns,
		h.didYouMean(namespaceName, ns))
}

// withSuggestions wraps a helper. It adds a suggestion to a server error about an unknown name, and the
// required role to an authorization error.
func withSuggestions(m helper) func(*call, *Helpers) goja.Value {
	f, params := m.call, script.ParameterNames(m.signature)
	if slices.Contains([]string{"enableSharding", "shardCollection", "shardAndDistributeCollection"}, m.name) {
		params[0] = "" // they create the object that their first argument names
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

// addSuggestion adds "Did you mean …?" to an error about an unknown name. The message has to be about
// the name; that of moveChunk shows only by its code that it is about a shard.
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

// warnNothingChanged warns if a server accepts an unknown name without an error.
func (h *Helpers) warnNothingChanged(what string, kind nameKind, name string) {
	h.host.JS.Out.Warn("Warning: " + what + ": no change" + h.didYouMean(kind, name))
}
