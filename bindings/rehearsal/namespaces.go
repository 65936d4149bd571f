package rehearsal

import (
	"cmp"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

// changing are commands that change documents, indexes or whether there is a
// collection, with where they name it.
var changing = map[string]func(req wire.Request) []string{
	"insert": own, "update": own, "delete": own, "findAndModify": own, "findandmodify": own, "create": own, "drop": own,
	"collMod": own, "createIndexes": own, "dropIndexes": own, "deleteIndexes": own, "convertToCapped": own,
	"mapReduce":       results,
	"shardCollection": whole, "reshardCollection": whole, "refineCollectionShardKey": whole,
	"renameCollection": func(req wire.Request) []string { return append(whole(req), text(req.Body, "to")) },
	"aggregate":        results,
	"bulkWrite": func(req wire.Request) (list []string) {
		for _, d := range documents(req.Body.Lookup("nsInfo")) {
			list = append(list, text(d, "ns"))
		}
		return list
	},
}

// namespaces are those that a command changes beyond their chunks.
func namespaces(req wire.Request) []string {
	if of := changing[req.Command]; of != nil {
		return of(req)
	}
	return nil
}

// own is the collection of the command's database that its value names.
func own(req wire.Request) []string {
	return []string{req.Database + "." + text(req.Body, req.Command)}
}

// whole is the namespace that the command's value is.
func whole(req wire.Request) []string { return []string{text(req.Body, req.Command)} }

// results are the collection that is read, and those that $out, $merge and out name.
func results(req wire.Request) []string {
	list := own(req)
	add := func(v bson.RawValue, database, collection string) {
		if name, isText := v.StringValueOK(); isText {
			list = append(list, req.Database+"."+name)
			return
		}
		doc, _ := v.DocumentOK()
		if into, isDocument := doc.Lookup(collection).DocumentOK(); isDocument {
			doc, collection = into, "coll"
		}
		if name := text(doc, collection); name != "" {
			in := text(doc, database)
			in = cmp.Or(in, req.Database)
			list = append(list, in+"."+name)
		}
	}
	for _, stage := range documents(req.Body.Lookup("pipeline")) {
		add(stage.Lookup("$out"), "db", "coll")
		add(stage.Lookup("$merge"), "db", "into")
	}
	for _, how := range []string{"replace", "merge", "reduce"} {
		add(req.Body.Lookup("out"), "db", how)
	}
	return list
}

func text(doc bson.Raw, field string) string {
	value, _ := doc.Lookup(field).StringValueOK()
	return value
}
