package access

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Action is something a role may do on a resource.
type Action string

// Resource is what actions are done on: the cluster, everything, or
// collections. An empty database stands for any but config and local, an empty
// collection for any that does not begin with "system." and for the database
// itself.
type Resource struct {
	Cluster, Any         bool
	Database, Collection string
	// Buckets: the buckets of time series, whose names Collection has without the prefix;
	// empty for all of them. No other resource has them.
	Buckets bool
}

// TheCluster returns the resource of actions on all of the cluster.
func TheCluster() Resource { return Resource{Cluster: true} }

// Everything returns the resource that includes all others.
func Everything() Resource { return Resource{Any: true} }

// In returns a database, and all of its collections but system.*.
func In(database string) Resource { return Resource{Database: database} }

// Buckets returns the buckets of all time series of a database, or of all.
func Buckets(database string) Resource { return Resource{Database: database, Buckets: true} }

// On returns one collection.
func On(database, collection string) Resource {
	return Resource{Database: database, Collection: collection}
}

// OnNamespace returns the collection of a full name, or the database of a bare
// one.
func OnNamespace(ns string) Resource {
	database, collection, _ := strings.Cut(ns, ".")
	return On(database, collection)
}

// Privilege is what may be done on a resource.
type Privilege struct {
	Resource Resource
	Actions  []Action
}

// actions is a set.
type actions map[Action]struct{}

// Grants are all privileges of a user or role, those of other roles included.
// The zero value allows nothing.
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

// Allows reports whether all of the actions may be done on the resource.
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

// AllowsSome reports whether anything may be done on the resource.
func (g *Grants) AllowsSome(r Resource) bool {
	return g != nil &&
		slices.ContainsFunc(coveringResources(r), func(of Resource) bool { return len(g.actionsOn[of]) > 0 })
}

// AllowsSomeIn reports whether anything may be done on a database or any
// collection of it.
func (g *Grants) AllowsSomeIn(database string) bool {
	if g.AllowsSome(In(database)) {
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

// coveringResources returns the resources whose privileges count for one, itself
// included.
func coveringResources(r Resource) []Resource {
	list := append(make([]Resource, 0, 5), Everything(), r)
	if r.Cluster || r.Any {
		return list
	}
	system := strings.HasPrefix(r.Collection, "system.")
	if !system && !isInternalDatabase(r.Database) {
		list = append(list, In(""))
	}
	if r.Collection == "" {
		return list
	}
	if !system {
		list = append(list, In(r.Database))
	}
	list = append(list, On("", r.Collection))
	if series, is := strings.CutPrefix(r.Collection, "system.buckets."); is {
		for _, database := range []string{r.Database, ""} {
			list = append(list, Resource{Database: database, Collection: series, Buckets: true},
				Resource{Database: database, Buckets: true})
		}
	}
	return list
}

// isInternalDatabase are the databases that must be named to be allowed.
func isInternalDatabase(database string) bool { return database == "config" || database == "local" }

// Privileges lists what is allowed, one entry a resource, all in order.
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

// bucketsRank is 1 for the buckets of time series, which come after the collection.
func bucketsRank(r Resource) int {
	if r.Buckets {
		return 1
	}
	return 0
}
