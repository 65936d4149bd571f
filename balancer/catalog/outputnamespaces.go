package catalog

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// OutputNamespaces returns the namespaces to which a command to a database writes that names them in its statements,
// its pipeline or its output: bulkWrite, aggregate with $out or $merge, and mapReduce.
func OutputNamespaces(database string, command bson.Raw) (names []string) {
	first, err := command.IndexErr(0)
	if err != nil {
		return nil
	}
	add := func(target bson.RawValue) {
		if ns := targetNamespace(database, target); ns != "" {
			names = append(names, ns)
		}
	}
	switch strings.ToLower(first.Key()) { // servers know mapReduce in lower case, too
	case "bulkwrite":
		for _, ns := range Documents(command.Lookup("nsInfo")) {
			if text, ok := ns.Lookup("ns").StringValueOK(); ok {
				names = append(names, text)
			}
		}
	case "aggregate":
		for _, stage := range Documents(command.Lookup("pipeline")) {
			add(stage.Lookup("$out"))
			add(stage.Lookup("$merge"))
			add(stage.Lookup("$merge", "into"))
		}
	case "mapreduce":
		add(command.Lookup("out"))
	}
	return names
}

// targetNamespace returns the collection to which $out, $merge or mapReduce write: a name in the command's own
// database, or a document that may name another database. "" if it names no collection.
func targetNamespace(database string, target bson.RawValue) string {
	if name, ok := target.StringValueOK(); ok {
		return database + "." + name
	}
	document, _ := target.DocumentOK()
	if db, _ := document.Lookup("db").StringValueOK(); db != "" {
		database = db
	}
	for _, field := range []string{"coll", "replace", "merge", "reduce"} {
		if name, ok := document.Lookup(field).StringValueOK(); ok {
			return database + "." + name
		}
	}
	return ""
}
