package rehearsal

import (
	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings/rawdoc"
)

// changedNamespaces maps commands that change documents, indexes or the existence of a collection to
// functions that return its namespaces.
var changedNamespaces = map[string]func(req wire.Request) []string{
	"insert":                   targetNamespace,
	"update":                   targetNamespace,
	"delete":                   targetNamespace,
	"findAndModify":            targetNamespace,
	"findandmodify":            targetNamespace,
	"create":                   targetNamespace,
	"drop":                     targetNamespace,
	"collMod":                  targetNamespace,
	"createIndexes":            targetNamespace,
	"dropIndexes":              targetNamespace,
	"deleteIndexes":            targetNamespace,
	"convertToCapped":          targetNamespace,
	"mapReduce":                targetAndOutputNamespaces,
	"shardCollection":          fullNamespace,
	"reshardCollection":        fullNamespace,
	"refineCollectionShardKey": fullNamespace,
	"renameCollection": func(req wire.Request) []string {
		return append(fullNamespace(req), rawdoc.Text(req.Body, "to"))
	},
	"aggregate": targetAndOutputNamespaces,
	"bulkWrite": func(req wire.Request) []string { return catalog.OutputNamespaces(req.Database, req.Body) },
}

// namespacesChangedBy returns the namespaces of which a command changes more than the chunks.
func namespacesChangedBy(req wire.Request) []string {
	if of := changedNamespaces[req.Command]; of != nil {
		return of(req)
	}
	return nil
}

// targetNamespace returns the collection in the command's database that is the value of the command.
func targetNamespace(req wire.Request) []string {
	return []string{req.Database + "." + rawdoc.Text(req.Body, req.Command)}
}

// fullNamespace returns the namespace that is the value of the command.
func fullNamespace(req wire.Request) []string { return []string{rawdoc.Text(req.Body, req.Command)} }

// targetAndOutputNamespaces returns the collection that is read, and those in $out, $merge and out.
func targetAndOutputNamespaces(req wire.Request) []string {
	return append(targetNamespace(req), catalog.OutputNamespaces(req.Database, req.Body)...)
}
