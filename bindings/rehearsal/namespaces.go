package rehearsal

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings/rawdoc"
)

// changedNamespaces maps commands that change documents, indexes or the existence of a collection to
// functions that return its namespaces.
var changedNamespaces = map[string]func(req wire.Request) []string{
	"insert":                   ownNamespace,
	"update":                   ownNamespace,
	"delete":                   ownNamespace,
	"findAndModify":            ownNamespace,
	"findandmodify":            ownNamespace,
	"create":                   ownNamespace,
	"drop":                     ownNamespace,
	"collMod":                  ownNamespace,
	"createIndexes":            ownNamespace,
	"dropIndexes":              ownNamespace,
	"deleteIndexes":            ownNamespace,
	"convertToCapped":          ownNamespace,
	"mapReduce":                ownAndOutputNamespaces,
	"shardCollection":          fullNamespace,
	"reshardCollection":        fullNamespace,
	"refineCollectionShardKey": fullNamespace,
	"renameCollection": func(req wire.Request) []string {
		return append(fullNamespace(req), rawdoc.Text(req.Body, "to"))
	},
	"aggregate": ownAndOutputNamespaces,
	"bulkWrite": func(req wire.Request) []string { return catalog.OutputNamespaces(req.Database, req.Body) },
}

// namespacesChangedBy returns the namespaces of which a command changes more than the chunks.
func namespacesChangedBy(req wire.Request) []string {
	if of := changedNamespaces[req.Command]; of != nil {
		return of(req)
	}
	return nil
}

// ownNamespace returns the collection in the command's database that is the value of the command.
func ownNamespace(req wire.Request) []string {
	return []string{req.Database + "." + rawdoc.Text(req.Body, req.Command)}
}

// fullNamespace returns the namespace that is the value of the command.
func fullNamespace(req wire.Request) []string { return []string{rawdoc.Text(req.Body, req.Command)} }

// ownAndOutputNamespaces returns the collection that is read, and those in $out, $merge and out.
func ownAndOutputNamespaces(req wire.Request) []string {
	return append(ownNamespace(req), catalog.OutputNamespaces(req.Database, req.Body)...)
}
