package bindings

import (
	"maps"
	"slices"

	"github.com/dop251/goja"

	"shardsh/bindings/complete"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// completion tells package complete what names mean in the shell.
type completion struct{ s *Shell }

func (c completion) Current() *server.Database {
	if c.s.db == nil {
		return nil
	}
	return c.s.db.Database
}

func (c completion) Object() *goja.Object { return c.s.db.object }

func (c completion) Place(v goja.Value) (d *server.Database, collectionName string) {
	if d, ok := script.Receiver[*database](v); ok {
		return d.Database, ""
	}
	if coll, ok := script.Receiver[*collection](v); ok {
		return coll.d.Database, coll.name
	}
	return nil, ""
}

func (c completion) Result(on goja.Value, method, argument string) (v goja.Value, proto *goja.Object, ours bool) {
	if d, ok := script.Receiver[*database](on); ok {
		v, proto = c.ofDatabase(d, method, argument)
		return v, proto, true
	}
	if m, ok := script.Receiver[*mongoObject](on); ok {
		v, proto = c.ofConnection(m, method, argument)
		return v, proto, true
	}
	if coll, ok := script.Receiver[*collection](on); ok {
		v, proto = c.ofCollection(coll, method)
		return v, proto, true
	}
	return nil, nil, false
}

func (c completion) ofDatabase(d *database, method, argument string) (goja.Value, *goja.Object) {
	switch method {
	case "getSiblingDB", "getSisterDB":
		if validDatabaseName(argument) {
			return d.sibling(argument).object, nil
		}
	case "getCollection":
		if validCollectionName(argument) {
			return d.collection(argument).object, nil
		}
	case "getMongo":
		return d.on.js(), nil
	case "aggregate", "watch":
		return nil, c.s.cursorPrototype()
	}
	return nil, nil
}

func (c completion) ofConnection(m *mongoObject, method, argument string) (goja.Value, *goja.Object) {
	switch {
	case method == "getDB" && validDatabaseName(argument):
		return m.database(argument).object, nil
	case method == "startSession":
		return nil, prototype(c.s, "Session", sessionMethods())
	}
	return nil, nil
}

func (c completion) ofCollection(coll *collection, method string) (goja.Value, *goja.Object) {
	switch method {
	case "find", "aggregate", "watch":
		return nil, c.s.cursorPrototype()
	case "explain":
		return nil, prototype(c.s, "Explainable", explainMethods())
	case "getPlanCache":
		return nil, prototype(c.s, "PlanCache", planCacheMethods())
	case "initializeOrderedBulkOp", "initializeUnorderedBulkOp":
		return nil, prototype(c.s, "Bulk", bulkMethods())
	case "getDB":
		return coll.d.object, nil
	case "getMongo":
		return coll.d.on.js(), nil
	}
	return nil, nil
}

func (c completion) CursorPrototype() *goja.Object { return c.s.cursorPrototype() }

func (c completion) ShowWords() []string {
	words := slices.Collect(maps.Keys(c.s.sharding.Shows()))
	for w := range showCommands() {
		if w != "dbs" && w != "nonGenuineMongoDBCheck" && w != "automationNotices" {
			words = append(words, w)
		}
	}
	return words
}

func (c completion) Settings() []string {
	var names []string
	for _, o := range allOptions() {
		names = append(names, o.name)
	}
	return names
}

func (c completion) SamplesFields() bool { return !c.s.settings.disableSchemaSampling }

var _ complete.Shell = completion{}

// Complete offers ways to finish an input, as [complete.Completer] does.
func (s *Shell) Complete(input string) (head string, completions []string) {
	return s.completer.Complete(input)
}
