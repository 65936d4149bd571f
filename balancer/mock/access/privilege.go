package access

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Action is the name of an operation that a privilege allows on a resource.
type Action string

// Resource is the object of actions: the cluster, any resource, or databases and collections. An empty
// database matches any database except config and local. An empty collection matches the database itself
// and any collection whose name does not begin with "system.".
type Resource struct {
	Cluster, Any         bool
	Database, Collection string
	// Buckets selects the bucket collections of time series. Collection then holds the name without the
	// "system.buckets." prefix; an empty Collection matches all of them. The resource of a database does
	// not include bucket collections.
	Buckets bool
}

// ClusterResource returns the cluster resource.
func ClusterResource() Resource { return Resource{Cluster: true} }

// AnyResource returns the resource that includes all others (anyResource).
func AnyResource() Resource { return Resource{Any: true} }

// DatabaseResource returns the resource of a database and all its collections except system.*.
func DatabaseResource(database string) Resource { return Resource{Database: database} }

// BucketsResource returns the resource of all bucket collections of a database. An empty name means all
// databases.
func BucketsResource(database string) Resource { return Resource{Database: database, Buckets: true} }

// CollectionResource returns the resource of one collection.
func CollectionResource(database, collection string) Resource {
	return Resource{Database: database, Collection: collection}
}

// NamespaceResource returns the resource of a collection for a full namespace, or of a database for a name
// without a dot.
func NamespaceResource(ns string) Resource {
	database, collection, _ := strings.Cut(ns, ".")
	return CollectionResource(database, collection)
}

// Privilege is a set of actions that are allowed on a resource.
type Privilege struct {
	Resource Resource
	Actions  []Action
}

// actions is a set of actions.
type actions map[Action]struct{}

// Grants are all privileges of a user or role, including those of inherited roles. The zero value allows
// nothing.
type Grants struct {
	actionsOn map[Resource]actions
}

func newGrants(privileges []Privilege) *Grants {
	g := &Grants{actionsOn: map[Resource]actions{}}
	for _, p := range privileges {
		g.add(p)
	}
	return g
}

func (g *Grants) add(p Privilege) {
	set := g.actionsOn[p.Resource]
	if set == nil {
		set = actions{}
		g.actionsOn[p.Resource] = set
	}
	for _, a := range p.Actions {
		set[a] = struct{}{}
	}
}

// Allows reports whether all wanted actions are allowed on the resource.
func (g *Grants) Allows(r Resource, wanted ...Action) bool {
	if g == nil {
		return false
	}
	for _, a := range wanted {
		if !slices.ContainsFunc(coveringResources(r), func(of Resource) bool { return g.has(of, a) }) {
			return false
		}
	}
	return true
}

func (g *Grants) has(r Resource, a Action) bool {
	_, ok := g.actionsOn[r][a]
	_, all := g.actionsOn[r][anyAction]
	return ok || all
}

// AllowsSome reports whether any action is allowed on the resource.
func (g *Grants) AllowsSome(r Resource) bool {
	return g != nil &&
		slices.ContainsFunc(coveringResources(r), func(of Resource) bool { return len(g.actionsOn[of]) > 0 })
}

// AllowsSomeIn reports whether any action is allowed on a database or on any of its collections.
func (g *Grants) AllowsSomeIn(database string) bool {
	if g.AllowsSome(DatabaseResource(database)) {
		return true
	}
	if g == nil {
		return false
	}
	for r := range g.actionsOn {
		if r.Collection != "" && (r.Database == database || r.Database == "" && !isInternalDatabase(database)) {
			return true
		}
	}
	return false
}

// coveringResources returns the resources whose privileges apply to r, including r itself.
func coveringResources(r Resource) []Resource {
	list := append(make([]Resource, 0, 5), AnyResource(), r)
	if r.Cluster || r.Any {
		return list
	}
	system := strings.HasPrefix(r.Collection, "system.")
	if !system && !isInternalDatabase(r.Database) {
		list = append(list, DatabaseResource(""))
	}
	if r.Collection == "" {
		return list
	}
	if !system {
		list = append(list, DatabaseResource(r.Database))
	}
	list = append(list, CollectionResource("", r.Collection))
	if series, ok := strings.CutPrefix(r.Collection, "system.buckets."); ok {
		for _, database := range []string{r.Database, ""} {
			list = append(list, Resource{Database: database, Collection: series, Buckets: true},
				Resource{Database: database, Buckets: true})
		}
	}
	return list
}

// isInternalDatabase reports whether a privilege must name the database to apply to it.
func isInternalDatabase(database string) bool { return database == "config" || database == "local" }

// Privileges returns the privileges, one for each resource, sorted.
func (g *Grants) Privileges() []Privilege {
	if g == nil {
		return nil
	}
	var list []Privilege
	for _, r := range slices.SortedFunc(maps.Keys(g.actionsOn), compareResources) {
		list = append(list, Privilege{r, slices.Sorted(maps.Keys(g.actionsOn[r]))})
	}
	return list
}

func compareResources(a, b Resource) int {
	rank := func(r Resource) int {
		switch {
		case r.Any:
			return 0
		case r.Cluster:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Database, b.Database),
		cmp.Compare(a.Collection, b.Collection), cmp.Compare(bucketsRank(a), bucketsRank(b)))
}

// bucketsRank returns 1 for bucket collections, which sort after the collection, else 0.
func bucketsRank(r Resource) int {
	if r.Buckets {
		return 1
	}
	return 0
}
