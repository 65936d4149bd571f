package access

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
)

// Request is a command that a client asks for, as rules see it.
type Request struct {
	Name     string // that it was called by
	Database string
	Body     bson.Raw
	Args     args.Values // the declared fields

	Directory *Directory
	// Caller is who is logged in, nil without a login; Grants are what that user may do.
	Caller *User
	Grants *Grants

	// RuleOf returns the Rule of another command, nil for none: explain needs
	// that of the command it explains.
	RuleOf func(command string) Rule
	// OwnOperation reports whether an operation under way is the caller's.
	OwnOperation func(id int64) bool
}

// Rule reports whether a caller may run a command.
type Rule func(Request) bool

// OnResource wants actions on a resource that is always the same.
func OnResource(on Resource, actions ...Action) Rule {
	return func(r Request) bool { return r.Grants.Allows(on, actions...) }
}

// OnCluster wants actions on the cluster.
func OnCluster(actions ...Action) Rule { return OnResource(TheCluster(), actions...) }

// OnCollection wants actions on the collection that the command's value names,
// or on the database where it names none.
func OnCollection(actions ...Action) Rule {
	return func(r Request) bool { return r.Grants.Allows(r.target(), actions...) }
}

// OnSubject wants actions on the namespace, or database, that the command's
// value is.
func OnSubject(actions ...Action) Rule {
	return func(r Request) bool {
		return r.Grants.Allows(OnNamespace(args.Text(r.Body.Lookup(r.Name))), actions...)
	}
}

// OnDatabase wants actions on the command's database.
func OnDatabase(actions ...Action) Rule {
	return func(r Request) bool { return r.Grants.Allows(In(r.Database), actions...) }
}

// AnyOf wants one of the rules to hold.
func AnyOf(rules ...Rule) Rule {
	return func(r Request) bool { return slices.ContainsFunc(rules, func(of Rule) bool { return of(r) }) }
}

// AllOf wants all rules to hold.
func AllOf(rules ...Rule) Rule {
	return func(r Request) bool { return !slices.ContainsFunc(rules, func(of Rule) bool { return !of(r) }) }
}

// LoggedIn needs no privilege beyond being logged in.
func LoggedIn(Request) bool { return true }

// isCaller reports whether a user is who asks.
func (r Request) isCaller(database, name string) bool {
	return r.Caller != nil && r.Caller.Database == database && r.Caller.Name == name
}

// target returns the collection that the command's value names in its database.
func (r Request) target() Resource { return On(r.Database, args.Text(r.Body.Lookup(r.Name))) }

// MayConfigureBalancing reports whether the caller may: moving takes more than splitting.
func MayConfigureBalancing(r Request) bool {
	wanted := []Action{"splitChunk"}
	if args.Truth(r.Body.Lookup("defragmentCollection")) || !r.Body.Lookup("enableBalancing").IsZero() {
		wanted = append(wanted, "moveChunk")
	}
	return OnSubject(wanted...)(r)
}

// OnlyOwnOperations reports whether only the caller's own operations are asked for, which everybody may see.
func OnlyOwnOperations(r Request) bool { return args.Truth(r.Body.Lookup("$ownOps")) }

// MayKillOwnOperation reports whether the caller may: everybody may kill their own commands on the mongos.
func MayKillOwnOperation(r Request) bool {
	n, isNumber := r.Body.Lookup("op").AsInt64OK()
	return isNumber && r.OwnOperation(n)
}

// MayListDatabases reports whether the caller may: everybody may list those that they may do something with.
func MayListDatabases(r Request) bool {
	only := r.Body.Lookup("authorizedDatabases")
	return only.IsZero() || args.Truth(only) || OnCluster("listDatabases")(r)
}

// MayListCollections reports whether the caller may: whoever may not list all may list those that they may do
// something with, and only their names.
func MayListCollections(r Request) bool {
	return OnDatabase("listCollections")(r) ||
		args.Truth(r.Body.Lookup("nameOnly")) && args.Truth(r.Body.Lookup("authorizedCollections")) &&
			r.Grants.AllowsSomeIn(r.Database)
}

// MayCreate reports whether the caller may: a view needs what its pipeline reads.
func MayCreate(r Request) bool {
	on := args.Text(r.Body.Lookup("viewOn"))
	if on != "" {
		return r.Grants.Allows(r.target(), "createCollection") && r.Grants.Allows(On(r.Database, on), "find") &&
			mayRunPipeline(r, on, r.Body.Lookup("pipeline"))
	}
	if args.Truth(r.Body.Lookup("capped")) {
		return r.Grants.Allows(r.target(), "createCollection", "convertToCapped")
	}
	return r.Grants.Allows(r.target(), "createCollection") || r.Grants.Allows(r.target(), "insert")
}

// MayModify reports whether the caller may: a view needs what its new pipeline reads.
func MayModify(r Request) bool {
	on := args.Text(r.Body.Lookup("viewOn"))
	return r.Grants.Allows(r.target(), "collMod") &&
		(on == "" || r.Grants.Allows(On(r.Database, on), "find") && mayRunPipeline(r, on, r.Body.Lookup("pipeline")))
}

// MayRename reports whether the caller may: within a database there is an action of its own; else it takes
// what a copy would.
func MayRename(r Request) bool {
	from, to := OnNamespace(args.Text(r.Body.Lookup(r.Name))), OnNamespace(args.Text(r.Body.Lookup("to")))
	replaces := args.Truth(r.Body.Lookup("dropTarget"))
	if from.Database == to.Database && r.Grants.Allows(from, "renameCollectionSameDB") &&
		r.Grants.Allows(to, "renameCollectionSameDB") {
		return (r.Grants.Allows(from, "find") || !r.Grants.Allows(to, "find")) &&
			(!replaces || r.Grants.Allows(to, "dropCollection"))
	}
	return r.Grants.Allows(from, "find", "dropCollection") &&
		r.Grants.Allows(to, "createCollection", "createIndex", "insert") &&
		(!replaces || r.Grants.Allows(to, "dropCollection"))
}

// MayExplain reports whether the caller may: what is explained must be allowed.
func MayExplain(r Request) bool {
	inner, _ := r.Body.Lookup("explain").DocumentOK()
	name := args.FirstKey(inner)
	rule := r.RuleOf(name)
	if rule == nil {
		return true // not to be explained
	}
	r.Body, r.Name = inner, name
	return rule(r)
}
