package collections

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// collectionHandlers returns the commands that change or check existing collections.
func collectionHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"renameCollection": renameCollection,
		"convertToCapped":  convertToCapped,
		"collMod":          collMod,
		"validate":         validate,
		"untrackUnshardedCollection": func(c *call.Call) (bson.D, error) {
			return bson.D{}, c.Cluster.Collections().Untrack(c.Args.Text("untrackUnshardedCollection"))
		},
	}
}

// renameCollection renames a collection. dropTarget may be the UUID that the target must have.
func renameCollection(c *call.Call) (bson.D, error) {
	from, to := c.Args.Text("renameCollection"), c.Args.Text("to")
	drop := c.Args.Bool("dropTarget")
	if catalog.DatabaseOf(to) != catalog.DatabaseOf(from) && c.Args.Has("collectionUUID") {
		return nil, mongoerr.New(mongoerr.InvalidOptions,
			"The collectionUUID parameter cannot be provided when renaming a collection between databases")
	}
	if _, target, isUUID := c.Args["dropTarget"].BinaryOK(); isUUID {
		if err := c.Cluster.Collections().CheckUUID(to, target); err != nil {
			return nil, err
		}
		drop = true
	}
	return bson.D{}, c.Request.RenameCollection(from, to, drop)
}

// collModFields are the options of collMod that the mock supports.
var collModFields = []string{"validator", "validationLevel", "validationAction", "index", "viewOn", "pipeline",
	"cappedSize", "cappedMax", "changeStreamPreAndPostImages", "dryRun"}

// collMod changes a validator, a view, the limits of a capped collection, or an index. A mongos before
// 5.0 returns the reply of each shard; a later one returns the common reply.
func collMod(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	elems, err := c.Body.Elements()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, e := range elems[1:] {
		if slices.Contains(refusedOptions(), e.Key()) {
			return nil, mongoerr.New(mongoerr.NotImplemented, "the mock does not support collections with %s", e.Key())
		}
	}
	noneToValidate := isGiven(c.Body.Lookup("validator")) && len(c.Cluster.Statistics().Collection(ns)) == 0
	if !c.Cluster.Collections().Exists(ns) || noneToValidate && !call.IsView(c, ns) {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist")
	}
	if call.IsView(c, ns) {
		return modifyView(c, ns)
	}
	if !c.Body.Lookup("viewOn").IsZero() || !c.Body.Lookup("pipeline").IsZero() {
		return nil, mongoerr.New(mongoerr.InvalidOptions,
			"option not supported on a collection: viewOn and pipeline are options of views")
	}
	changes, err := modifiedOptions(c)
	if err != nil {
		return nil, err
	}
	hasLimit := slices.ContainsFunc(changes, func(o bson.E) bool { return o.Key == "size" || o.Key == "max" })
	if hasLimit && !isCapped(c.Cluster, ns) {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "collection must be capped.")
	}
	index, err := modifyIndex(c, ns)
	if err != nil {
		return nil, err
	}
	if !args.IsTrueOrNonzero(c.Body.Lookup("dryRun")) {
		c.Cluster.Collections().Modify(ns, changes, collModEvent(elems[1:], index), index)
	}
	result := indexReply(index)
	if c.Cluster.Release().FCVAtLeast(catalog.Release50) {
		return result, nil
	}
	raw := bson.D{}
	for _, host := range c.Cluster.Statistics().HostsOf(ns) {
		raw = append(raw, bson.E{Key: host, Value: append(slices.Clone(result), bson.E{Key: "ok", Value: 1.0})})
	}
	return bson.D{{Key: "raw", Value: raw}}, nil
}

// collModEvent returns the change stream event of a collMod: all requested options, and for an index its
// changes.
func collModEvent(asked []bson.RawElement, index *mock.IndexChange) bson.D {
	list := bson.D{}
	for _, e := range asked {
		switch name := e.Key(); {
		case name == "index" && index == nil:
		case name == "index":
			list = append(list, bson.E{Key: name, Value: append(bson.D{{Key: "name", Value: index.Name}}, index.After...)})
		case name != "dryRun" && slices.Contains(collModFields, name):
			list = append(list, bson.E{Key: name, Value: e.Value()})
		}
	}
	return list
}

// indexReply returns the reply of collMod for an index: the changed options before and after the
// command.
func indexReply(index *mock.IndexChange) bson.D {
	reply := bson.D{}
	if index == nil {
		return reply
	}
	for _, o := range index.Before {
		reply = append(reply, bson.E{Key: o.Key + "_old", Value: o.Value})
	}
	for _, o := range index.After {
		reply = append(reply, bson.E{Key: o.Key + "_new", Value: o.Value})
	}
	return reply
}

func isCapped(cluster *mock.Cluster, ns string) bool {
	parts := cluster.Statistics().Collection(ns)
	return len(parts) > 0 && parts[0].Capped
}

func modifyView(c *call.Call, ns string) (bson.D, error) {
	on := c.Body.Lookup("viewOn")
	if on.IsZero() || c.Body.Lookup("pipeline").IsZero() {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Must specify both 'viewOn' and 'pipeline' when modifying a view")
	}
	view, err := readView(c, ns, on)
	if err != nil {
		return nil, err
	}
	return bson.D{}, c.Cluster.Collections().ModifyView(ns, c.DB, view)
}

// modifiedOptions reads the validator and the limits; nil removes an option.
func modifiedOptions(c *call.Call) (bson.D, error) {
	changes, err := validationOptions(c, bson.D{})
	if err != nil {
		return nil, err
	}
	if doc, isDoc := c.Body.Lookup("validator").DocumentOK(); isDoc && document.IsEmpty(doc) {
		changes = append(changes, bson.E{Key: "validator"})
	}
	for _, limit := range []struct{ option, kept string }{{"cappedSize", "size"}, {"cappedMax", "max"}} {
		v := c.Body.Lookup(limit.option)
		if v.IsZero() {
			continue
		}
		n, isNumber := args.Number(v)
		if !isNumber {
			return nil, mongoerr.New(mongoerr.TypeMismatch,
				"BSON field 'collMod.%s' is the wrong type '%s', expected types '[long, int, decimal, double]'",
				limit.option, args.TypeName(v.Type))
		}
		if !(n > 0) && limit.kept == "size" { // also NaN
			return nil, mongoerr.New(mongoerr.BadValue, "BSON field 'cappedSize' value must be > 0, actual value '%v'", n)
		}
		if !(n > 0) {
			n = 0
		}
		changes = append(changes, bson.E{Key: limit.kept, Value: document.SmallestInt(int64(n))})
	}
	return changes, nil
}

// modifyIndex changes one index. It returns nil if the command does not change an index.
func modifyIndex(c *call.Call, ns string) (*mock.IndexChange, error) {
	doc := c.Args.Object("index")
	if doc == nil {
		return nil, nil
	}
	if err := c.Cluster.Indexes().CheckChangeable(ns); err != nil {
		return nil, err
	}
	spec, err := findIndex(c.Cluster, ns, doc)
	if err != nil {
		return nil, err
	}
	if args.IsTrueOrNonzero(c.Body.Lookup("dryRun")) && !isGiven(doc.Lookup("unique")) {
		return nil, mongoerr.New(mongoerr.InvalidOptions,
			"collMod's dryRun is only for the conversion of an index to a unique one")
	}
	change := &mock.IndexChange{Name: spec.Name}
	change.Before, change.After, err = modifyOption(c, ns, spec, doc)
	return change, err
}

// modifyOption changes the expireAfterSeconds or hidden of an index, or both, or one option about unique
// keys. It returns the values before and after.
func modifyOption(c *call.Call, ns string, spec store.IndexSpec, doc bson.Raw) (oldDoc, newDoc bson.D, err error) {
	if oldDoc, newDoc, meant, err := modifyUnique(c, ns, spec, doc); meant {
		return oldDoc, newDoc, err
	}
	seconds, hidden := doc.Lookup("expireAfterSeconds"), doc.Lookup("hidden")
	if !isGiven(seconds) && !isGiven(hidden) {
		return nil, nil, mongoerr.New(mongoerr.InvalidOptions,
			"no expireAfterSeconds, hidden, unique, or prepareUnique field")
	}
	if isGiven(seconds) {
		if err := checkNewExpiry(spec, seconds); err != nil {
			return nil, nil, err
		}
	}
	if isGiven(hidden) {
		if oldDoc, newDoc, err = modifyHidden(c.Cluster, ns, spec, args.IsTrueOrNonzero(hidden)); err != nil {
			return nil, nil, err
		}
	}
	if isGiven(seconds) {
		secondsBefore, secondsNow, err := modifyExpiry(c.Cluster, ns, spec, seconds)
		return append(secondsBefore, oldDoc...), append(secondsNow, newDoc...), err
	}
	return oldDoc, newDoc, nil
}

func modifyHidden(
	cluster *mock.Cluster,
	ns string,
	spec store.IndexSpec,
	hidden bool,
) (oldDoc, newDoc bson.D, err error) {
	if spec.Name == "_id_" {
		return nil, nil, mongoerr.New(mongoerr.BadValue, "can't hide _id index")
	}
	before, err := cluster.Indexes().SetHidden(ns, spec.Name, hidden)
	oldDoc, newDoc = boolChange("hidden", before, hidden)
	return oldDoc, newDoc, err
}

// isGiven reports whether a field is present and not null.
func isGiven(v bson.RawValue) bool { return !v.IsZero() && v.Type != bson.TypeNull }

// boolChange returns the values of a boolean option before and after, or nil if it has not changed.
func boolChange(option string, before, now bool) (oldDoc, newDoc bson.D) {
	if before == now {
		return nil, nil
	}
	return bson.D{{Key: option, Value: before}}, bson.D{{Key: option, Value: now}}
}

func findIndex(cluster *mock.Cluster, ns string, doc bson.Raw) (store.IndexSpec, error) {
	name, byName := doc.Lookup("name").StringValueOK()
	key, byKey := doc.Lookup("keyPattern").DocumentOK()
	if byName == byKey {
		return store.IndexSpec{}, mongoerr.New(mongoerr.InvalidOptions, "Must specify either index name or key pattern.")
	}
	specs, _ := cluster.Indexes().List(ns)
	at := slices.IndexFunc(specs, func(s store.IndexSpec) bool {
		return byName && s.Name == name || byKey && keyorder.CompareDocuments(s.Key, key) == 0
	})
	if at < 0 {
		return store.IndexSpec{}, mongoerr.New(mongoerr.IndexNotFound, "cannot find index %s for ns %s", doc, ns)
	}
	return specs[at], nil
}

// validate reports every collection as valid: a mock's collections cannot be corrupt.
func validate(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	if call.IsView(c, ns) {
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView, "Cannot validate a view")
	}
	parts := c.Cluster.Statistics().Collection(ns)
	if len(parts) == 0 {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "Collection '%s' does not exist to validate.", ns)
	}
	raw := bson.D{}
	for _, p := range parts {
		uuid, entries := c.Cluster.Statistics().IndexEntries(ns, p.Shard)
		keys, details := bson.D{}, bson.D{}
		for _, name := range p.Indexes {
			keys = append(keys, bson.E{Key: name, Value: entries[name]})
			details = append(details, bson.E{Key: name, Value: bson.D{{Key: "valid", Value: true}}})
		}
		raw = append(raw, bson.E{Key: string(p.Shard), Value: bson.D{
			{Key: "ns", Value: ns},
			{Key: "uuid", Value: uuid},
			{Key: "nInvalidDocuments", Value: int64(0)},
			{Key: "nNonCompliantDocuments", Value: int64(0)},
			{Key: "nrecords", Value: p.Docs},
			{Key: "nIndexes", Value: int32(len(p.Indexes))},
			{Key: "keysPerIndex", Value: keys},
			{Key: "indexDetails", Value: details},
			{Key: "valid", Value: true},
			{Key: "repaired", Value: false},
			{Key: "warnings", Value: bson.A{}},
			{Key: "errors", Value: bson.A{}},
			{Key: "extraIndexEntries", Value: bson.A{}},
			{Key: "missingIndexEntries", Value: bson.A{}},
			{Key: "corruptRecords", Value: bson.A{}},
			{Key: "readTimestamp", Value: c.Cluster.IDs().ClusterTime()},
			{Key: "ok", Value: 1.0},
		}})
	}
	_, sharded, err := c.Cluster.ConfigDB().ShardedEntry(ns)
	if err != nil {
		return nil, err
	}
	summary := bson.D{{Key: "valid", Value: true}}
	if !sharded { // for an unsharded collection mongos returns the shard's reply
		summary, _ = raw[0].Value.(bson.D)
		summary = slices.DeleteFunc(slices.Clone(summary), func(e bson.E) bool { return e.Key == "ok" })
	}
	return append(summary, bson.E{Key: "raw", Value: raw}), nil
}
