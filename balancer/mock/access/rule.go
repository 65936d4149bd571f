package access

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
)

// Request is a client's command as the authorization rules need it.
type Request struct {
	Name     string // as sent; may be an alias
	Database string
	Body     bson.Raw
	Args     args.Values // the declared fields

	Directory *Directory
	// Caller is the authenticated user, nil if the client has not authenticated. Grants are the
	// privileges of Caller.
	Caller *User
	Grants *Grants

	// RuleOf returns the Rule of another command, nil if it has none. explain needs the Rule of the
	// explained command.
	RuleOf func(command string) Rule
	// IsOwnOperation reports whether an operation in progress belongs to the caller.
	IsOwnOperation func(id int64) bool
}

// Rule reports whether a caller may run a command.
type Rule func(Request) bool

// OnResource returns a Rule that requires actions on a fixed resource.
func OnResource(on Resource, actions ...Action) Rule {
	return func(r Request) bool { return r.Grants.Allows(on, actions...) }
}

// OnCluster returns a Rule that requires actions on the cluster.
func OnCluster(actions ...Action) Rule { return OnResource(ClusterResource(), actions...) }

// OnCollection returns a Rule that requires actions on the collection in the command's value, or on the
// database if the value names no collection.
func OnCollection(actions ...Action) Rule {
	return func(r Request) bool { return r.Grants.Allows(r.target(), actions...) }
}

// OnNamedNamespace returns a Rule that requires actions on the namespace or database in the command's value.
func OnNamedNamespace(actions ...Action) Rule {
	return func(r Request) bool {
		return r.Grants.Allows(NamespaceResource(args.Text(r.Body.Lookup(r.Name))), actions...)
	}
}

// OnDatabase returns a Rule that requires actions on the command's database.
func OnDatabase(actions ...Action) Rule {
	return func(r Request) bool { return r.Grants.Allows(DatabaseResource(r.Database), actions...) }
}

// AnyOf returns a Rule that requires at least one of rules.
func AnyOf(rules ...Rule) Rule {
	return func(r Request) bool { return slices.ContainsFunc(rules, func(of Rule) bool { return of(r) }) }
}

// AllOf returns a Rule that requires all rules.
func AllOf(rules ...Rule) Rule {
	return func(r Request) bool { return !slices.ContainsFunc(rules, func(of Rule) bool { return !of(r) }) }
}

// LoggedIn requires authentication but no privilege.
func LoggedIn(Request) bool { return true }

// isCaller reports whether the named user is the caller.
func (r Request) isCaller(database, name string) bool {
	return r.Caller != nil && r.Caller.Database == database && r.Caller.Name == name
}

// target returns the resource of the collection in the command's value.
func (r Request) target() Resource {
	return CollectionResource(r.Database, args.Text(r.Body.Lookup(r.Name)))
}

// MayConfigureBalancing reports whether the caller may run the command. Moving chunks requires more than
// splitting them.
func MayConfigureBalancing(r Request) bool {
	wanted := []Action{"splitChunk"}
	if args.IsTrueOrNonzero(r.Body.Lookup("defragmentCollection")) || !r.Body.Lookup("enableBalancing").IsZero() {
		wanted = append(wanted, "moveChunk")
	}
	return OnNamedNamespace(wanted...)(r)
}

// OnlyOwnOperations reports whether the command returns only the caller's own operations. Every user may
// see those.
func OnlyOwnOperations(r Request) bool { return args.IsTrueOrNonzero(r.Body.Lookup("$ownOps")) }

// MayKillOwnOperation reports whether the operation belongs to the caller. Every user may kill their own
// operations on the mongos.
func MayKillOwnOperation(r Request) bool {
	n, isNumber := r.Body.Lookup("op").AsInt64OK()
	return isNumber && r.IsOwnOperation(n)
}

// MayListDatabases reports whether the caller may run the command. Every user may list the databases on
// which they have a privilege.
func MayListDatabases(r Request) bool {
	only := r.Body.Lookup("authorizedDatabases")
	return only.IsZero() || args.IsTrueOrNonzero(only) || OnCluster("listDatabases")(r)
}

// MayListCollections reports whether the caller may run the command. A user without listCollections may
// list only the names of the collections on which they have a privilege.
func MayListCollections(r Request) bool {
	return OnDatabase("listCollections")(r) ||
		args.IsTrueOrNonzero(r.Body.Lookup("nameOnly")) && args.IsTrueOrNonzero(r.Body.Lookup("authorizedCollections")) &&
			r.Grants.AllowsSomeIn(r.Database)
}

// MayCreate reports whether the caller may run the command. A view also requires the privileges of its
// pipeline.
func MayCreate(r Request) bool {
	on := args.Text(r.Body.Lookup("viewOn"))
	if on != "" {
		return r.Grants.Allows(r.target(), "createCollection") && r.Grants.Allows(CollectionResource(r.Database, on),
			"find") &&
			mayRunPipeline(r, on, r.Body.Lookup("pipeline"))
	}
	if args.IsTrueOrNonzero(r.Body.Lookup("capped")) {
		return r.Grants.Allows(r.target(), "createCollection", "convertToCapped")
	}
	return r.Grants.Allows(r.target(), "createCollection") || r.Grants.Allows(r.target(), "insert")
}

// MayCollMod reports whether the caller may run collMod. A view also requires the privileges of its
// new pipeline.
func MayCollMod(r Request) bool {
	on := args.Text(r.Body.Lookup("viewOn"))
	return r.Grants.Allows(r.target(), "collMod") &&
		(on == "" || r.Grants.Allows(CollectionResource(r.Database, on), "find") &&
			mayRunPipeline(r, on, r.Body.Lookup("pipeline")))
}

// MayRename reports whether the caller may run the command. A rename within a database has its own
// action; a rename across databases requires the privileges of a copy.
func MayRename(r Request) bool {
	from, to := NamespaceResource(args.Text(r.Body.Lookup(r.Name))), NamespaceResource(args.Text(r.Body.Lookup("to")))
	replaces := args.IsTrueOrNonzero(r.Body.Lookup("dropTarget"))
	if from.Database == to.Database && r.Grants.Allows(from, "renameCollectionSameDB") &&
		r.Grants.Allows(to, "renameCollectionSameDB") {
		return (r.Grants.Allows(from, "find") || !r.Grants.Allows(to, "find")) &&
			(!replaces || r.Grants.Allows(to, "dropCollection"))
	}
	return r.Grants.Allows(from, "find", "dropCollection") &&
		r.Grants.Allows(to, "createCollection", "createIndex", "insert") &&
		(!replaces || r.Grants.Allows(to, "dropCollection"))
}

// MayExplain reports whether the caller may run the explained command.
func MayExplain(r Request) bool {
	inner, _ := r.Body.Lookup("explain").DocumentOK()
	name := args.FirstKey(inner)
	rule := r.RuleOf(name)
	if rule == nil {
		return true // The explained command does not exist: explain fails later.
	}
	r.Body, r.Name = inner, name
	return rule(r)
}
